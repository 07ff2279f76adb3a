import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { distFile } from '../../support/dist.js';
import { eventually } from '../../support/eventually.js';
import { tempDir } from '../../support/temp-dir.js';

describe('a broker that is told to stop', () => {
  const end = async (preload: readonly string[]): Promise<number | null> => {
    const root = tempDir();
    const config = path.join(root, 'config.yaml');
    writeFileSync(config, JSON.stringify({ http: { listen: 'off' } }));
    const argv = [...preload, distFile(), 'serve', '--root', root, '--config', config];
    const child = spawn(process.execPath, argv, { stdio: 'ignore' });
    const ended = once(child, 'exit');
    await eventually('it serves', () => existsSync(path.join(root, 'device-plugins', 'kubelet.sock')));
    child.kill('SIGTERM');
    const [code] = (await ended) as [number | null];
    return code;
  };

  it('ends with 0', async () => {
    assert.equal(await end([]), 0);
  });

  it('ends with 1 when something of it could not be ended in order', async () => {
    const broken = pathToFileURL(path.join(import.meta.dirname, '..', '..', 'support', 'broken-watch.js')).href;
    assert.equal(await end(['--import', broken]), 1);
  });
});
