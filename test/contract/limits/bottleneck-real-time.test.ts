// The adapter on the machine's own time: what a fake clock cannot show.
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

  it('does not keep a process alive, though it was never closed', () => {
    const file = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href);
    const script = `
      const { bottleneckLimiters } = await import(${file('../../../src/platform/limits/bottleneck-limiter.js')});
      const { systemClock } = await import(${file('../../../src/platform/time/system-clock.js')});
      const limiter = bottleneckLimiters(systemClock)({ burst: 5, intervalMs: 3_600_000 });
      while (limiter.tryTake()) {}
      process.stdout.write('drained');`;
    const ended = spawnSync(process.execPath, ['--input-type=module', '--eval', script], { timeout: 20_000 });
    assert.equal(ended.signal, null, 'it had to be killed');
    assert.equal(ended.stdout.toString(), 'drained');
    assert.equal(ended.stderr.toString(), '');
  });
});
