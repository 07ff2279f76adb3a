// Processes of others that say that they belong to a run: the names of its directories are no secret.
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import path from 'node:path';
import { describe, it } from 'node:test';
import { MARK } from '../../src/verify/leftovers.js';
import { simCommand, VerifyRun } from '../support/verifying.js';

describe('verify', () => {
  it('takes no process for one of the plugin that knows the name of its directory alone', async () => {
    const run = new VerifyRun(['--scenario', 'first-list'], simCommand());
    const others = new Map<string, ChildProcess>();
    const watch = setInterval(() => {
      for (const name of run.files) {
        if (others.has(name)) continue;
        const env = { [MARK]: `${path.join(run.folder, name)}#0` };
        others.set(name, spawn('/bin/sleep', ['60'], { env, stdio: 'ignore' }));
      }
    }, 10);
    try {
      const { code, stderr } = await run.running.ended;
      assert.equal(code, 0, stderr);
      assert.ok(others.size > 0);
      // All that is its own has ended with it.
      for (const { exitCode, signalCode } of others.values()) assert.deepEqual([exitCode, signalCode], [null, null]);
    } finally {
      clearInterval(watch);
      for (const other of others.values()) other.kill('SIGKILL');
    }
  });
});
