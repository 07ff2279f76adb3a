// Commands that start processes, when their reader leaves in the middle, or their terminal is closed: nothing stays.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { describe, it } from 'node:test';
import { eventually } from '../support/eventually.js';
import { start } from '../support/program.js';
import { tempDir } from '../support/temp-dir.js';
import { simCommand } from '../support/verifying.js';

/** 128 and the number of the signal, as a shell reports it. */
const [SIGHUP, SIGPIPE] = [129, 141];

describe('a command that started processes', { concurrency: 2, timeout: 120_000 }, () => {
  it('ends them when nobody reads its output any more, and says so by its exit code', async () => {
    const own = tempDir();
    const demo = start(['demo'], { TMPDIR: own });
    demo.child.stdout.once('data', () => demo.child.stdout.destroy());
    assert.equal((await demo.ended).code, SIGPIPE);
    assert.deepEqual(readdirSync(own), []);
  });

  for (const args of [['demo'], ['verify', '--scenario', 'first-list', '--', ...simCommand()]]) {
    it(`ends them when its terminal is closed (${args[0] ?? ''})`, async () => {
      const own = tempDir();
      const running = start(args, { TMPDIR: own });
      await eventually('it has begun', () => readdirSync(own).length > 0);
      running.child.kill('SIGHUP');
      assert.equal((await running.ended).code, SIGHUP);
      assert.deepEqual(readdirSync(own), []);
    });
  }
});
