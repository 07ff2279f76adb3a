// The adapter on the machine's own time: a fake clock cannot show these things.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { bottleneckLimiters } from '../../../src/platform/limits/bottleneck-limiter.js';
import { systemClock } from '../../../src/platform/time/system-clock.js';

describe('a limiter on Bottleneck in real time', () => {
  it('gives a greedy taker what the elapsed time allows, and goes on giving', async () => {
    for (const settings of [
      { burst: 5, intervalMs: 10 },
      { burst: 1, intervalMs: 25 },
      { burst: 50, intervalMs: 1 },
    ]) {
      const limiter = bottleneckLimiters(systemClock)(settings);
      const startMs = systemClock.mono();
      let taken = 0;
      const wanted = settings.burst * 3 + 10;
      while (taken < wanted) {
        if (limiter.tryTake()) taken += 1;
        else await nextTurn();
      }
      const elapsedMs = systemClock.mono() - startMs;
      limiter.close();
      const allowed = settings.burst + elapsedMs / settings.intervalMs;
      assert.ok(taken <= allowed + 1e-6, `${taken} permits in ${elapsedMs} ms, where ${allowed} were allowed`);
    }
  });

  it('lets turns come at the pace of the limit, and keeps no process alive once they have', () => {
    const file = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href);
    const script = `
      const { bottleneckLimiters } = await import(${file('../../../src/platform/limits/bottleneck-limiter.js')});
      const { systemClock } = await import(${file('../../../src/platform/time/system-clock.js')});
      const limiter = bottleneckLimiters(systemClock)({ burst: 1, intervalMs: 20 });
      const startMs = systemClock.mono();
      limiter.tryTake();
      const alive = setInterval(() => {}, 1_000);
      for (let turn = 1; turn <= 10; turn += 1) {
        limiter.join(() => {
          if (systemClock.mono() - startMs < turn * 20) process.stdout.write('too early');
          if (turn < 10) return;
          process.stdout.write('all');
          clearInterval(alive);
        });
      }`;
    const ended = spawnSync(process.execPath, ['--input-type=module', '--eval', script], { timeout: 20_000 });
    assert.equal(ended.signal, null, 'it had to be killed');
    assert.equal(ended.stderr.toString(), '');
    assert.equal(ended.stdout.toString(), 'all');
  });
});
