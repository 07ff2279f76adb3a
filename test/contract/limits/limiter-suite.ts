// The behaviour of every Limiter, run on the plain model and on the adapter.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Limiter, OpenLimiter, WaitingTurn } from '../../../src/flood/limiter.js';
import type { BucketSettings } from '../../../src/model/settings.js';
import { firstExcess, IdealBucket, type Grant, type Regime } from './ideal-bucket.js';

/** A world in which limiters live and time is told to pass. */
export interface LimiterWorld {
  readonly open: OpenLimiter;
  /** Monotonic time. */
  now(): number;
  advance(ms: number): Promise<void>;
  /** Sets the machine's clock without time passing. */
  stepWall(ms: number): void;
  /** Timers that somebody waits for. */
  pending(): number;
  /** How much later than its permit a turn of the line may come; milliseconds. */
  readonly lateMs: number;
  /** The same after the wall clock was set back and forth between two looks, which no look can see; milliseconds. */
  readonly lateUnseenMs: number;
}

type Deed =
  | { readonly do: 'take'; readonly times: number }
  | { readonly do: 'join'; readonly leaves: boolean }
  | { readonly do: 'pass'; readonly intervals: number }
  | { readonly do: 'step'; readonly wallMs: number }
  | { readonly do: 'reload'; readonly settings: BucketSettings };

const DAY_MS = 24 * 60 * 60 * 1_000;
const settings = fc.record({ burst: fc.integer({ min: 1, max: 12 }), intervalMs: fc.constantFrom(5, 20, 250, 2_000) });
const deed: fc.Arbitrary<Deed> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('take' as const), times: fc.integer({ min: 1, max: 15 }) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('join' as const), leaves: fc.boolean() }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('pass' as const),
      intervals: fc.double({ min: 0.01, max: 6, noNaN: true }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('step' as const),
      wallMs: fc.constantFrom(-49 * DAY_MS, -3_600_000, -700, 700, 3_600_000, 49 * DAY_MS),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('reload' as const), settings }) },
);

/** Runs deeds and holds the limiter against an ideal bucket that saw the same grants. */
async function live(world: LimiterWorld, first: BucketSettings, deeds: readonly Deed[]): Promise<void> {
  const limiter = world.open(first);
  const ideal = new IdealBucket(first, world.now());
  const grants: Grant[] = [];
  const regimes: Regime[] = [{ ...first, fromMs: world.now() }];
  const waiting = new Set<WaitingTurn>();
  const given = (): void => {
    grants.push({ givenMs: world.now(), atMs: world.now() });
    ideal.spend(world.now());
  };
  let steps = 0;
  const lateMs = (): number => (steps > 1 ? world.lateUnseenMs : world.lateMs);
  const heldBack = (): void => {
    const held = ideal.permits(world.now());
    const most = waiting.size === 0 ? 0 : Math.ceil(lateMs() / limiter.settings.intervalMs);
    assert.ok(held <= most, `${held} permits were earned and none was given`);
  };
  const join = (): void => {
    const turn = limiter.join(() => {
      if (turn !== undefined) waiting.delete(turn);
      given();
    });
    assert.ok(turn !== undefined);
    waiting.add(turn);
  };
  try {
    for (const deed of deeds) {
      if (deed.do === 'pass')
        await world.advance(Math.max(1, Math.round(deed.intervals * limiter.settings.intervalMs)));
      else if (deed.do === 'step') {
        steps += 1;
        world.stepWall(deed.wallMs);
      } else if (deed.do === 'reload') {
        limiter.reload(deed.settings);
        ideal.resize(deed.settings, world.now());
        regimes.push({ ...deed.settings, fromMs: world.now() });
      } else if (deed.do === 'join') {
        const [first] = waiting;
        if (!deed.leaves || first === undefined) {
          if (limiter.tryTake()) given();
          else join();
        } else {
          waiting.delete(first);
          first.leave();
        }
      } else {
        for (let time = 0; time < deed.times; time += 1) {
          if (limiter.tryTake()) given();
          else heldBack();
        }
      }
      assert.equal(limiter.waiting, waiting.size);
    }
    await world.advance(waiting.size * limiter.settings.intervalMs + lateMs());
    assert.equal(waiting.size, 0, 'everybody had a turn');
    assert.equal(firstExcess(grants, regimes), undefined);
  } finally {
    limiter.close();
  }
}

/** Declares the tests for one kind of limiter. */
export function limiterSuite(kind: string, newWorld: () => LimiterWorld, runs: number): void {
  const within = async (first: BucketSettings, test: (limiter: Limiter, world: LimiterWorld) => Promise<void>) => {
    const world = newWorld();
    const limiter = world.open(first);
    try {
      await test(limiter, world);
    } finally {
      limiter.close();
    }
  };
  const takeAll = (limiter: Limiter): number => {
    let taken = 0;
    while (limiter.tryTake()) taken += 1;
    return taken;
  };

  describe(`a limiter: ${kind}`, () => {
    it('gives its burst at once and then nothing', () =>
      within({ burst: 5, intervalMs: 2_000 }, async (limiter) => {
        assert.equal(limiter.permits(), 5);
        assert.equal(takeAll(limiter), 5);
        assert.equal(limiter.permits(), 0);
        assert.equal(limiter.nextInMs(), 2_000);
        assert.ok(!limiter.isFull());
      }));

    it('gives one more each interval, and no sooner', () =>
      within({ burst: 3, intervalMs: 250 }, async (limiter, world) => {
        takeAll(limiter);
        for (let permit = 0; permit < 8; permit += 1) {
          await world.advance(249);
          assert.ok(!limiter.tryTake());
          assert.equal(limiter.nextInMs(), 1);
          await world.advance(1);
          assert.equal(limiter.nextInMs(), 0);
          assert.equal(takeAll(limiter), 1);
        }
      }));

    it('is full again after the time its burst needs, and never fuller', () =>
      within({ burst: 4, intervalMs: 20 }, async (limiter, world) => {
        takeAll(limiter);
        await world.advance(79);
        assert.ok(!limiter.isFull());
        await world.advance(1);
        assert.ok(limiter.isFull());
        await world.advance(2_000);
        assert.equal(takeAll(limiter), 4);
      }));

    it('serves an interval shorter than a timer at its full rate', () =>
      within({ burst: 40, intervalMs: 1 }, async (limiter, world) => {
        let taken = takeAll(limiter);
        for (let round = 0; round < 100; round += 1) {
          await world.advance(5);
          taken += takeAll(limiter);
        }
        assert.equal(taken, 540);
      }));

    it('gives those who wait a turn each, one interval apart, and lets none jump the queue', () =>
      within({ burst: 1, intervalMs: 100 }, async (limiter, world) => {
        assert.ok(limiter.tryTake());
        const came: number[] = [];
        for (const nth of [1, 2, 3]) limiter.join(() => came.push(nth));
        assert.equal(limiter.nextInMs(), 400);
        await world.advance(100 + world.lateMs);
        assert.deepEqual(came, [1]);
        assert.ok(!limiter.tryTake(), 'the next permit belongs to one who waits');
        assert.equal(limiter.permits(), 0);
        await world.advance(200);
        assert.deepEqual([came, limiter.waiting], [[1, 2, 3], 0]);
      }));

    it('spends nothing for somebody who left, and those behind move forward', () =>
      within({ burst: 1, intervalMs: 1_000 }, async (limiter, world) => {
        limiter.tryTake();
        const came: number[] = [];
        const [first] = [1, 2].map((nth) => limiter.join(() => came.push(nth)));
        await world.advance(500);
        first?.leave();
        first?.leave();
        await world.advance(500 + world.lateMs);
        assert.deepEqual(came, [2]);
        const last = limiter.join(() => came.push(3));
        last?.leave();
        await world.advance(1_000);
        assert.deepEqual(came, [2]);
        assert.equal(limiter.permits(), 1);
        await world.advance(100);
        assert.equal(world.pending(), 0);
      }));

    it('keeps its line through a reload, at the new pace', () =>
      within({ burst: 1, intervalMs: 60_000 }, async (limiter, world) => {
        limiter.tryTake();
        const came: number[] = [];
        for (const nth of [1, 2, 3]) limiter.join(() => came.push(nth));
        await world.advance(10);
        limiter.reload({ burst: 1, intervalMs: 200 });
        await world.advance(600 + world.lateMs);
        assert.deepEqual(came, [1, 2, 3]);
      }));

    it('goes on after a reload with the permits it had and the part that was earned', () =>
      within({ burst: 10, intervalMs: 1_000 }, async (limiter, world) => {
        for (let time = 0; time < 8; time += 1) limiter.tryTake();
        await world.advance(500);
        limiter.reload({ burst: 20, intervalMs: 200 });
        assert.equal(limiter.permits(), 2);
        assert.equal(limiter.nextInMs(), 0);
        assert.equal(takeAll(limiter), 2);
        assert.equal(limiter.nextInMs(), 100);
      }));

    it('has at most the new burst after a reload', () =>
      within({ burst: 10, intervalMs: 1_000 }, async (limiter) => {
        limiter.reload({ burst: 3, intervalMs: 1_000 });
        assert.equal(takeAll(limiter), 3);
      }));

    it('gains nothing by reloads that go to and fro', () =>
      within({ burst: 5, intervalMs: 2_000 }, async (limiter) => {
        let taken = takeAll(limiter);
        for (let time = 0; time < 100; time += 1) {
          limiter.reload({ burst: 50, intervalMs: 10 });
          limiter.reload({ burst: 5, intervalMs: 2_000 });
          taken += takeAll(limiter);
        }
        assert.equal(taken, 5);
      }));

    it('leaves no timer behind once it is full', () =>
      within({ burst: 6, intervalMs: 50 }, async (limiter, world) => {
        takeAll(limiter);
        await world.advance(3_000);
        assert.ok(limiter.isFull());
        assert.equal(world.pending(), 0);
      }));

    it('gives nothing after it was closed, twice too, and leaves no timer', () =>
      within({ burst: 6, intervalMs: 50 }, async (limiter, world) => {
        takeAll(limiter);
        for (let time = 0; time < 4; time += 1) limiter.join(() => assert.fail('a turn came after all'));
        await world.advance(10);
        limiter.close();
        limiter.close();
        assert.ok(!limiter.tryTake());
        assert.equal(
          limiter.join(() => assert.fail()),
          undefined,
        );
        assert.equal(limiter.permits(), 0);
        await world.advance(500);
        assert.equal(world.pending(), 0);
      }));

    it('forgets nobody when the wall clock is set back and forth while a turn is being waited for', () =>
      live(newWorld(), { burst: 1, intervalMs: 5 }, [
        { do: 'take', times: 1 },
        { do: 'join', leaves: false },
        { do: 'pass', intervals: 0.01 },
        { do: 'step', wallMs: -49 * DAY_MS },
        { do: 'pass', intervals: 0.01 },
        { do: 'step', wallMs: 49 * DAY_MS },
        { do: 'take', times: 1 },
      ]));

    it('never exceeds burst and rate in any window, holds nothing back, and forgets no waiter', async () => {
      await fc.assert(
        fc.asyncProperty(settings, fc.array(deed, { minLength: 1, maxLength: 40 }), (first, deeds) =>
          live(newWorld(), first, deeds),
        ),
        { numRuns: runs },
      );
    });
  });
}
