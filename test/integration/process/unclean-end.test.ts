import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { O_PATH } from '../../../src/platform/fs/name-calls.js';
import { distFile } from '../../support/dist.js';
import { eventually } from '../../support/eventually.js';
import { tempDir } from '../../support/temp-dir.js';

describe('a broker that is told to stop', () => {
  const end = async (
    preload: readonly string[],
    shown = '"level":"error"',
    until = (_log: string): boolean => true,
    stdout: 'ignore' | number = 'ignore',
  ): Promise<[code: number | null, lines: string[]]> => {
    const root = tempDir();
    const config = path.join(root, 'config.yaml');
    writeFileSync(config, JSON.stringify({ http: { listen: 'off' } }));
    const argv = [...preload, distFile(), 'serve', '--root', root, '--config', config];
    const child = spawn(process.execPath, argv, { stdio: ['ignore', stdout, 'pipe'] });
    let log = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (log += text));
    const ended = once(child, 'close');
    await eventually('it serves', () => existsSync(path.join(root, 'device-plugins', 'kubelet.sock')));
    await eventually('it has said it', () => until(log));
    child.kill('SIGTERM');
    const [code] = (await ended) as [number | null];
    return [code, log.split('\n').filter((line) => line.includes(shown))];
  };

  it('ends with 0', async () => {
    assert.deepEqual(await end([]), [0, []]);
  });

  it('does not write its standard output out to the disk, which may never end', async () => {
    // A file that cannot be written out: what tries to says so.
    const file = path.join(tempDir(), 'output');
    writeFileSync(file, '');
    const unwritable = openSync(file, O_PATH);
    try {
      assert.deepEqual(await end([], 'Failed to sync', () => true, unwritable), [0, []]);
    } finally {
      closeSync(unwritable);
    }
  });

  it('has told a warning of Node.js once, as a line of its log', async () => {
    const warn = "setInterval(() => process.emitWarning('planted'), 50).unref()";
    const isTold = (log: string): boolean => log.includes('planted');
    const [code, lines] = await end(
      ['--import', `data:text/javascript,${encodeURIComponent(warn)}`],
      'planted',
      isTold,
    );
    assert.equal(code, 0);
    assert.deepEqual(
      lines.map((line) => (JSON.parse(line) as { event: string }).event),
      ['broker.node-warning'],
    );
  });

  it('ends with 1 when something of it could not be ended in order, and says in one line what', async () => {
    const broken = pathToFileURL(path.join(import.meta.dirname, '..', '..', 'support', 'broken-watch.js')).href;
    const [code, errors] = await end(['--import', broken]);
    assert.deepEqual([code, errors.length], [1, 1]);
    assert.match(errors[0] ?? '', /could not end in order, and ends with 1: .*planted: it cannot be closed/);
  });
});
