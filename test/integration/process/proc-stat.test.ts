import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { lookAtProcess, procStat } from '../../../src/platform/process/proc-stat.js';
import { eventually } from '../../support/eventually.js';
import { tempDir } from '../../support/temp-dir.js';

void describe('the stat file of a process', () => {
  void it('is read right under any name of the process', async () => {
    const name = 'a) Z 1\n(é 2';
    const file = path.join(tempDir(), name);
    symlinkSync('/bin/sleep', file);
    const child = spawn(file, ['60'], { detached: true });
    const pid = child.pid ?? 0;
    try {
      await eventually('it runs', () => procStat(pid)?.name === name);
      const seen = procStat(pid);
      assert.deepEqual([seen?.hasEnded, seen?.parent, seen?.group], [false, process.pid, pid]);
      const own = procStat(process.pid);
      assert.ok(Number(seen?.startTime) >= Number(own?.startTime) && Number(own?.startTime) > 0);
    } finally {
      child.kill('SIGKILL');
    }
    await eventually('it has gone', () => procStat(pid) === undefined);
  });

  void it('is that of its first thread: the one of the process is summed up over tens of thousands of threads', () => {
    const proc = tempDir();
    mkdirSync(path.join(proc, '7/task/7'), { recursive: true });
    writeFileSync(path.join(proc, '7/task/7/stat'), `7 (many) S 1 6 ${'0 '.repeat(14)}30000 0 4711 0\n`);
    const seen = lookAtProcess(7, 0, proc);
    assert.deepEqual(seen, {
      name: 'many',
      hasEnded: false,
      firstHasEnded: false,
      parent: 1,
      group: 6,
      startTime: '4711',
    });
  });
});
