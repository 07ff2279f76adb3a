import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync, truncateSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { MARK, marked } from '../../../src/verify/leftovers.js';
import { eventually } from '../../support/eventually.js';
import { tempDir } from '../../support/temp-dir.js';

describe('processes with a mark', () => {
  it('are found, behind a long environment, too', async () => {
    const own = `t${String(process.pid)}`;
    const env = {
      ...Object.fromEntries(Array.from({ length: 8 }, (_, index) => [`FILL${String(index)}`, 'x'.repeat(100_000)])),
      [MARK]: `${own}\u0001`,
    };
    const child = spawn('/bin/sleep', ['60'], { env });
    try {
      await eventually('it is found', () => marked(own).some(({ pid }) => pid === child.pid));
      assert.deepEqual(marked(`${own}-other`), []);
    } finally {
      child.kill('SIGKILL');
    }
  });

  it('are looked for in a bounded part of each environment, however long a process says that its own is', () => {
    const proc = tempDir();
    const of = (pid: number, uid: number): string => {
      const folder = path.join(proc, String(pid));
      mkdirSync(folder);
      writeFileSync(
        path.join(folder, 'status'),
        `Name:\tsleep\nUid:\t${String(uid)}\t${String(uid)}\t${String(uid)}\t${String(uid)}\n`,
      );
      return path.join(folder, 'environ');
    };
    // A file of holes, larger than any string or buffer can be.
    for (const [pid, uid] of [
      [7, 4001],
      [8, 0],
    ] as const) {
      const environ = of(pid, uid);
      writeFileSync(environ, '');
      truncateSync(environ, 64 * 1024 ** 3);
    }
    assert.deepEqual(marked('t', proc), []);
  });
});
