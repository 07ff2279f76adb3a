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
  const end = async (preload: readonly string[]): Promise<[code: number | null, errors: string[]]> => {
    const root = tempDir();
    const config = path.join(root, 'config.yaml');
    writeFileSync(config, JSON.stringify({ http: { listen: 'off' } }));
    const argv = [...preload, distFile(), 'serve', '--root', root, '--config', config];
    const child = spawn(process.execPath, argv, { stdio: ['ignore', 'ignore', 'pipe'] });
    let log = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text));
    const ended = once(child, 'close');
    await eventually('it serves', () => existsSync(path.join(root, 'device-plugins', 'kubelet.sock')));
    child.kill('SIGTERM');
    const [code] = (await ended) as [number | null];
    return [code, log.split('\n').filter((line) => line.includes('"level":"error"'))];
  };

  it('ends with 0', async () => {
    assert.deepEqual(await end([]), [0, []]);
  });

  it('ends with 1 when something of it could not be ended in order, and says in one line what', async () => {
    const broken = pathToFileURL(path.join(import.meta.dirname, '..', '..', 'support', 'broken-watch.js')).href;
    const [code, errors] = await end(['--import', broken]);
    assert.deepEqual([code, errors.length], [1, 1]);
    assert.match(errors[0] ?? '', /could not end in order, and ends with 1: .*planted: it cannot be closed/);
  });
});
