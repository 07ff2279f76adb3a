import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Limiter } from '../../../../src/flood/limiter.js';
import { bottleneckLimiters } from '../../../../src/platform/limits/bottleneck-limiter.js';
import { takeBottleneckTime } from '../../../support/bottleneck-time.js';
import type { FakeClock } from '../../../support/fake-clock.js';

const DAY_MS = 24 * 60 * 60 * 1_000;
const time = takeBottleneckTime();

function takeAll(limiter: Limiter): number {
  let taken = 0;
  while (limiter.tryTake()) taken += 1;
  return taken;
}

/** Takes whatever is there each `everyMs` and returns how much it was. */
async function demand(limiter: Limiter, clock: FakeClock, rounds: number, everyMs: number): Promise<number> {
  let taken = 0;
  for (let round = 0; round < rounds; round += 1) {
    await clock.advance(everyMs);
    taken += takeAll(limiter);
  }
  return taken;
}

describe('Bottleneck behind a limiter', () => {
  it('is not started by a plugin that registers now and then', async () => {
    const clock = time.fresh();
    const limiter = bottleneckLimiters(clock)({ burst: 5, intervalMs: 2_000 });
    assert.ok(limiter.tryTake());
    assert.ok(limiter.tryTake());
    assert.equal(clock.pending, 0);
    await clock.settle();
    assert.equal(clock.pending, 0);
  });

  it('mints what is given out: where it hangs, only the stock can be spent, however long one waits', async () => {
    const clock = time.fresh();
    const limiter = bottleneckLimiters(clock)({ burst: 5, intervalMs: 100 });
    time.loseTimers = true;
    try {
      const taken = takeAll(limiter) + (await demand(limiter, clock, 200, 100));
      assert.equal(taken, 10);
      assert.ok(limiter.nextInMs() > 0, 'it does not say that a permit is there');
      assert.equal(limiter.permits(), 0);
    } finally {
      time.loseTimers = false;
      limiter.close();
    }
  });

  it('is replaced when its mint is overdue, and the next mint brings what was earned meanwhile', async () => {
    const clock = time.fresh();
    const limiter = bottleneckLimiters(clock)({ burst: 8, intervalMs: 100 });
    time.loseTimers = true;
    takeAll(limiter);
    await demand(limiter, clock, 20, 100);
    time.loseTimers = false;
    await clock.advance(1_200);
    assert.ok(!limiter.tryTake(), 'what no mint brought is not given');
    await clock.advance(50);
    assert.equal(takeAll(limiter), 8);
    limiter.close();
  });

  for (const [step, wallMs] of [
    ['back by 49 days', -49 * DAY_MS],
    ['back by 300 ms', -300],
    ['forward by an hour', 3_600_000],
    ['forward by 49 days', 49 * DAY_MS],
  ] as const) {
    it(`keeps its pace under constant demand when the wall clock steps ${step}, whenever that is`, async () => {
      for (let atMs = 0; atMs < 60; atMs += 3) {
        const clock = time.fresh();
        const limiter = bottleneckLimiters(clock)({ burst: 1, intervalMs: 50 });
        takeAll(limiter);
        await demand(limiter, clock, 10, 50);
        await clock.advance(atMs);
        clock.stepWall(wallMs);
        await clock.advance(60 - atMs);
        takeAll(limiter);
        assert.equal(await demand(limiter, clock, 40, 50), 40, `stepped ${atMs} ms after a permit`);
        limiter.close();
      }
    });
  }

  it('can be closed at each moment of a mint, and neither rejects nor leaves a timer', async () => {
    for (let afterMs = 0; afterMs < 120; afterMs += 1) {
      const clock = time.fresh();
      const limiter = bottleneckLimiters(clock)({ burst: 4, intervalMs: 50 });
      takeAll(limiter);
      await clock.advance(afterMs);
      limiter.close();
      await clock.advance(100);
      assert.equal(clock.pending, 0, `closed after ${afterMs} ms`);
    }
  });

  it('gives a reload no burst, at each moment of a mint', async () => {
    for (let afterMs = 0; afterMs < 120; afterMs += 1) {
      const clock = time.fresh();
      const limiter = bottleneckLimiters(clock)({ burst: 4, intervalMs: 50 });
      let taken = takeAll(limiter);
      await clock.advance(afterMs);
      limiter.reload({ burst: 6, intervalMs: 50 });
      taken += takeAll(limiter);
      assert.equal(taken, 4 + Math.floor(afterMs / 50));
      limiter.close();
    }
  });
});
