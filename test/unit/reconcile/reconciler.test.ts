import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { silentLog } from '../../support/silence.js';
import type { Random } from '../../../src/kernel/random.js';
import { Reconciler, type PendingRegistration } from '../../../src/reconcile/reconciler.js';
import { FakeClock } from '../../support/fake-clock.js';
import type { Attempt } from '../../../src/model/registration.js';

const AGAIN: Attempt = { done: false };
const DONE: Attempt = { done: true };
/** Waits are their ceiling: 100, 200, 400, 800, 1000, 1000 … */
const full: Random = { next: () => 0.999_999 };

class Bed {
  readonly clock = new FakeClock();
  readonly reconciler = new Reconciler({
    clock: this.clock,
    random: full,
    log: silentLog,
    backoff: { firstMs: 100, maxMs: 1000 },
  });
  readonly attempts: number[] = [];
  dropped = 0;

  pending(
    attempt: (at: number, signal: AbortSignal) => Promise<Attempt>,
    over: Partial<PendingRegistration> = {},
  ): PendingRegistration {
    return {
      key: 'k',
      incarnation: '1',
      attempt: (signal, failures) => {
        this.attempts.push(failures);
        return attempt(this.attempts.length, signal);
      },
      dropped: () => (this.dropped += 1),
      ...over,
    };
  }
}

describe('a pending registration', () => {
  it('is worked on at once, and settled by the attempt that succeeds', async () => {
    const bed = new Bed();
    bed.reconciler.want(bed.pending(() => Promise.resolve(DONE)));
    await bed.clock.settle();
    assert.deepEqual([bed.attempts, bed.dropped, bed.reconciler.size], [[0], 1, 0]);
  });

  it('is tried again with growing waits up to a ceiling, a rejection counting as "again"', async () => {
    const bed = new Bed();
    const at: number[] = [];
    bed.reconciler.want(
      bed.pending((count) => {
        at.push(bed.clock.mono());
        return count % 2 === 0 ? Promise.reject(new Error('oops')) : Promise.resolve(AGAIN);
      }),
    );
    await bed.clock.advance(3600);
    assert.deepEqual(at, [0, 99, 298, 697, 1496, 2495, 3494]);
    bed.reconciler.stop();
  });

  it('is not tried sooner than the attempt said', async () => {
    const bed = new Bed();
    bed.reconciler.want(bed.pending(() => Promise.resolve({ done: false, atLeastMs: 5000 })));
    await bed.clock.advance(4999);
    assert.equal(bed.attempts.length, 1);
    await bed.clock.advance(1);
    assert.equal(bed.attempts.length, 2);
    bed.reconciler.stop();
  });

  it('that waits for the end of a quarantine is tried at once then, with fresh backoff, and no other pending registration is', async () => {
    const bed = new Bed();
    const keptOut: Attempt = { done: false, atLeastMs: 60_000, keptOut: 'T/a' };
    const runs = new Map<string, number>();
    const wants = (key: string, attempt: Promise<Attempt>): void => {
      const counted = (): Promise<Attempt> => {
        runs.set(key, (runs.get(key) ?? 0) + 1);
        return attempt;
      };
      bed.reconciler.want(bed.pending(counted, { key }));
    };
    wants('kept out', Promise.resolve(keptOut));
    wants('of another', Promise.resolve({ ...keptOut, keptOut: 'T/b' }));
    wants('waits', Promise.resolve({ done: false, atLeastMs: 60_000 }));
    wants('runs', new Promise(() => undefined));
    await bed.clock.advance(1_000);
    bed.reconciler.retryNow('T/a');
    bed.reconciler.retryNow('T/a');
    await bed.clock.settle();
    assert.deepEqual(Object.fromEntries(runs), { 'kept out': 2, 'of another': 1, waits: 1, runs: 1 });
    assert.deepEqual(bed.attempts, [0, 0, 0, 0, 0]);
    assert.equal(bed.clock.pending, 3, 'the alarm of before is cancelled');
    bed.reconciler.unwant('kept out');
    bed.reconciler.retryNow('T/a');
    assert.equal(runs.get('kept out'), 2);
    bed.reconciler.stop();
  });

  it('may begin later, and with the failures of before', async () => {
    const bed = new Bed();
    bed.reconciler.want(
      bed.pending(() => Promise.resolve(AGAIN)),
      500,
      3,
    );
    await bed.clock.advance(499);
    assert.deepEqual(bed.attempts, []);
    await bed.clock.advance(1);
    assert.deepEqual(bed.attempts, [3]);
    await bed.clock.advance(798);
    assert.equal(bed.attempts.length, 1);
    await bed.clock.advance(1);
    assert.deepEqual(bed.attempts, [3, 4]);
    bed.reconciler.stop();
  });

  it('has one attempt at a time', async () => {
    const bed = new Bed();
    bed.reconciler.want(bed.pending(() => new Promise(() => undefined)));
    await bed.clock.advance(100_000);
    assert.equal(bed.attempts.length, 1);
  });

  it('of one key runs beside those of others', async () => {
    const bed = new Bed();
    for (const key of ['a', 'b', 'c']) bed.reconciler.want(bed.pending(() => new Promise(() => undefined), { key }));
    await bed.clock.settle();
    assert.deepEqual([bed.attempts.length, bed.reconciler.size], [3, 3]);
  });

  it('that is asked for twice for one incarnation is one, worked on at the earlier of the two times', async () => {
    const bed = new Bed();
    bed.reconciler.want(bed.pending(() => Promise.resolve(AGAIN)));
    await bed.clock.advance(50);
    bed.reconciler.want(
      bed.pending(() => Promise.resolve(DONE)),
      500,
    );
    assert.deepEqual([bed.attempts, bed.dropped, bed.reconciler.size], [[0], 1, 1], 'it sleeps for 49 ms more');
    bed.reconciler.want(bed.pending(() => Promise.resolve(DONE)));
    assert.deepEqual([bed.attempts, bed.dropped, bed.reconciler.size], [[0, 0], 2, 1], 'and is woken');
    await bed.clock.settle();
    assert.equal(bed.clock.pending, 1);
    assert.equal(bed.reconciler.has('k', '1'), true);
    assert.equal(bed.reconciler.has('k', '2'), false);
    bed.reconciler.stop();
  });

  it('that is asked for again during its last attempt is worked on once more', async () => {
    const bed = new Bed();
    let end = (_: Attempt): void => undefined;
    bed.reconciler.want(bed.pending(() => new Promise((resolve) => (end = resolve))));
    bed.reconciler.want(
      bed.pending(() => Promise.resolve(DONE)),
      200,
      2,
    );
    end(DONE);
    await bed.clock.advance(199);
    assert.deepEqual(bed.attempts, [0]);
    await bed.clock.advance(1);
    assert.deepEqual(bed.attempts, [0, 2]);
    end(DONE);
    await bed.clock.settle();
    assert.equal(bed.reconciler.size, 0);
  });

  it('that sleeps is given up when its registration came about by itself, one that runs is not', async () => {
    const bed = new Bed();
    bed.reconciler.want(bed.pending(() => Promise.resolve(AGAIN)));
    bed.reconciler.want(bed.pending(() => new Promise(() => undefined), { key: 'runs' }));
    await bed.clock.settle();
    for (const key of ['k', 'runs', 'unknown']) bed.reconciler.unwantAsleep(key);
    assert.deepEqual([bed.reconciler.size, bed.dropped, bed.clock.pending], [1, 1, 0]);
    bed.reconciler.stop();
  });

  it('for another incarnation takes the place of the old one, whose late end changes nothing', async () => {
    const bed = new Bed();
    let end = (_: Attempt): void => undefined;
    let signal: AbortSignal | undefined;
    bed.reconciler.want(
      bed.pending((_, given) => {
        signal = given;
        return new Promise((resolve) => (end = resolve));
      }),
    );
    bed.reconciler.want(bed.pending(() => new Promise(() => undefined), { incarnation: '2' }));
    assert.equal(signal?.aborted, true);
    assert.equal(bed.dropped, 1);
    assert.deepEqual(bed.attempts, [0, 0], 'with fresh backoff');
    end(DONE);
    await bed.clock.settle();
    assert.equal(bed.reconciler.has('k', '2'), true);
  });

  it('that is not wanted any more is dropped, while it waits and while it runs', async () => {
    for (const attempt of [
      (): Promise<Attempt> => Promise.resolve(AGAIN),
      () => new Promise<Attempt>(() => undefined),
    ]) {
      const bed = new Bed();
      bed.reconciler.want(bed.pending(attempt));
      await bed.clock.settle();
      bed.reconciler.unwant('k', '2');
      assert.equal(bed.reconciler.size, 1, 'another incarnation is meant');
      bed.reconciler.unwant('k', '1');
      bed.reconciler.unwant('k');
      await bed.clock.advance(10_000);
      assert.deepEqual([bed.attempts.length, bed.dropped, bed.reconciler.size, bed.clock.pending], [1, 1, 0, 0]);
    }
  });

  it('is dropped exactly once, also when the attempt itself ends the pending registration', async () => {
    const bed = new Bed();
    bed.reconciler.want(
      bed.pending(() => {
        bed.reconciler.unwant('k');
        return Promise.resolve(DONE);
      }),
    );
    await bed.clock.settle();
    assert.equal(bed.dropped, 1);
  });

  it('is dropped when everything stops, and none is taken after that', async () => {
    const bed = new Bed();
    bed.reconciler.want(bed.pending(() => Promise.resolve(AGAIN)));
    bed.reconciler.want(bed.pending(() => new Promise(() => undefined), { key: 'other' }));
    await bed.clock.settle();
    bed.reconciler.stop();
    bed.reconciler.want(bed.pending(() => Promise.resolve(DONE), { key: 'late' }));
    await bed.clock.advance(10_000);
    assert.deepEqual([bed.attempts.length, bed.dropped, bed.reconciler.size, bed.clock.pending], [2, 3, 0, 0]);
  });
});
