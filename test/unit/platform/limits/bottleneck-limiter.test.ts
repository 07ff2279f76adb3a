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

/** Lets so many wait; gives the moments at which their turns come. */
function line(limiter: Limiter, clock: FakeClock, length: number): number[] {
  const came: number[] = [];
  for (let nth = 0; nth < length; nth += 1) limiter.join(() => came.push(clock.mono()));
  return came;
}

describe('Bottleneck behind a limiter', () => {
  it('is not asked for a call that has a permit, nor for one that is refused', async () => {
    const clock = time.fresh();
    const limiter = bottleneckLimiters(clock)({ burst: 5, intervalMs: 2_000 });
    assert.equal(takeAll(limiter), 5);
    for (let call = 0; call < 1_000; call += 1) assert.ok(!limiter.tryTake());
    assert.equal(clock.pending, 0);
    await clock.settle();
    assert.equal(clock.pending, 0);
  });

  it('lets turns come: where it never runs a job nobody has one, however long they wait', async () => {
    const clock = time.fresh();
    const limiter = bottleneckLimiters(clock)({ burst: 5, intervalMs: 100 });
    takeAll(limiter);
    time.loseTimers = true;
    const came = line(limiter, clock, 3);
    await clock.advance(60_000);
    assert.deepEqual(came, []);
    time.loseTimers = false;
    await clock.advance(2_100);
    assert.equal(came.length, 3, 'a fresh instance took the line over');
    limiter.close();
  });

  it('holds a turn for no longer than it takes to start a job', async () => {
    for (const intervalMs of [5, 20, 250, 2_000]) {
      const clock = time.fresh();
      const limiter = bottleneckLimiters(clock)({ burst: 1, intervalMs });
      takeAll(limiter);
      const came = line(limiter, clock, 20);
      await clock.advance(30 * intervalMs);
      const late = came.map((atMs, nth) => atMs - (nth + 1) * intervalMs);
      assert.equal(came.length, 20);
      assert.ok(
        late.every((ms) => ms >= 0 && ms <= 8),
        late.join(' '),
      );
      limiter.close();
    }
  });

  for (const [step, wallMs] of [
    ['back by 49 days', -49 * DAY_MS],
    ['back by 300 ms', -300],
    ['forward by an hour', 3_600_000],
    ['forward by 49 days', 49 * DAY_MS],
  ] as const) {
    it(`keeps its pace when the wall clock steps ${step} while somebody waits, whenever that is`, async () => {
      for (let atMs = 0; atMs < 120; atMs += 7) {
        const clock = time.fresh();
        const limiter = bottleneckLimiters(clock)({ burst: 1, intervalMs: 50 });
        takeAll(limiter);
        const came = line(limiter, clock, 40);
        await clock.advance(atMs);
        clock.stepWall(wallMs);
        await clock.advance(2_000 - atMs + 60);
        assert.equal(came.length, 40, `stepped after ${atMs} ms`);
        came.forEach((ms, nth) => assert.ok(ms >= (nth + 1) * 50, `turn ${nth} came at ${ms} ms`));
        limiter.close();
      }
    });
  }

  it('has no instance, no job and no timer once nobody waits', async () => {
    const clock = time.fresh();
    const limiter = bottleneckLimiters(clock)({ burst: 2, intervalMs: 50 });
    takeAll(limiter);
    line(limiter, clock, 3);
    const last = limiter.join(() => assert.fail());
    await clock.advance(160);
    last?.leave();
    await clock.advance(10);
    assert.equal(clock.pending, 0);
    await clock.advance(100);
    assert.ok(limiter.isFull());
  });

  it('can be closed at each moment of a turn, and neither rejects nor leaves a timer', async () => {
    for (let afterMs = 0; afterMs < 120; afterMs += 1) {
      const clock = time.fresh();
      const limiter = bottleneckLimiters(clock)({ burst: 4, intervalMs: 50 });
      takeAll(limiter);
      line(limiter, clock, 5);
      await clock.advance(afterMs);
      limiter.close();
      await clock.advance(100);
      assert.equal(clock.pending, 0, `closed after ${afterMs} ms`);
    }
  });

  it('gives a reload no burst, and keeps the line, at each moment of a turn', async () => {
    for (let afterMs = 0; afterMs < 120; afterMs += 1) {
      const clock = time.fresh();
      const limiter = bottleneckLimiters(clock)({ burst: 4, intervalMs: 50 });
      takeAll(limiter);
      const came = line(limiter, clock, 10);
      await clock.advance(afterMs);
      limiter.reload({ burst: 6, intervalMs: 51 });
      assert.equal(takeAll(limiter), 0);
      await clock.advance(520 - afterMs + 8);
      assert.equal(came.length, 10, `reloaded after ${afterMs} ms`);
      limiter.close();
    }
  });
});
