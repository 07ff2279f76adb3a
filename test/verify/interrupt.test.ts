import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SCENARIOS } from '../../src/verify/scenarios.js';
import { eventually } from '../support/eventually.js';
import { simCommand, VerifyRun } from '../support/verifying.js';

void describe('Ctrl-C in the middle of verify', { concurrency: 4 }, () => {
  for (const { name, doors } of SCENARIOS) {
    void it(`leaves no process and no file behind in ${name}`, async () => {
      const door = doors.includes('register') ? 'register' : 'watcher';
      const run = new VerifyRun(['--scenario', name], simCommand('--door', door));
      if (name === 'first-list') await eventually('broker and plugin run', () => run.processes.length >= 3);
      else await run.inScenario();
      run.running.child.kill('SIGINT');
      assert.equal((await run.running.ended).code, 130);
      await eventually('nothing is left', () => run.processes.length === 0);
      assert.deepEqual(run.files, []);
    });
  }
});
