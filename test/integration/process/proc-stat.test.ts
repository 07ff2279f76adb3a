import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { procStat } from '../../../src/platform/process/proc-stat.js';
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
});
