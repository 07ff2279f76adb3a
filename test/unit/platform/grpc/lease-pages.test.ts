import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nextTurns } from '../../../../src/platform/time/next-turn.js';
import { sendPages } from '../../../../src/platform/grpc/lease-pages.js';

/** A stream whose pages leave when a test says so. */
function sink() {
  const pages: number[] = [];
  let sent: ((failure?: Error | null) => void) | undefined;
  const state = { isEnded: false, failure: undefined as unknown };
  const call = { cancelled: false };
  return {
    call,
    pages,
    state,
    leave: (failure?: Error) => sent?.(failure),
    stream: {
      get cancelled() {
        return call.cancelled;
      },
      write: (page: Buffer, then: (failure?: Error | null) => void) => {
        pages.push(page.length);
        sent = then;
      },
      end: () => void (state.isEnded = true),
    },
    failed: (failure: unknown) => void (state.failure = failure),
  };
}

/** Each page has its turn at once. */
function atOnce<R>(make: () => R): Promise<R> {
  return new Promise((resolve) => resolve(make()));
}

/** Lets promises settle. */
const settled = (): Promise<void> => nextTurns(1);

describe('pages of leases', () => {
  it('have sixteen leases, or 64 KiB and the lease with which they have that, and are made one after the other', async () => {
    const { pages, state, leave, stream, failed } = sink();
    const sizes = [...Array<number>(17).fill(1), 40_000, 40_000, 300_000, 2];
    sendPages(stream, sizes, (size) => Buffer.alloc(size), atOnce, failed);
    const seen = [];
    for (let nth = 0; nth < 6 && !state.isEnded; nth += 1) {
      await settled();
      seen.push(pages.splice(0));
      leave();
    }
    assert.deepEqual(seen, [[16], [80_001], [300_000], [2]]);
    assert.deepEqual(state, { isEnded: true, failure: undefined });
  });

  it('are each made in a turn that it waits for, and none for a call that is over by then', async () => {
    const { call, pages, leave, stream, failed } = sink();
    const turns: (() => void)[] = [];
    let made = 0;
    const make = (): Buffer => {
      made += 1;
      return Buffer.alloc(1);
    };
    const inTurn = <R>(work: () => R): Promise<R> => new Promise((resolve) => turns.push(() => resolve(work())));
    sendPages(stream, Array<number>(33).fill(1), make, inTurn, failed);
    await settled();
    assert.deepEqual([made, turns.length], [0, 1]);
    turns.shift()?.();
    await settled();
    assert.deepEqual([made, pages, turns.length], [16, [16], 0]);
    leave();
    await settled();
    assert.deepEqual([made, turns.length], [16, 1]);
    call.cancelled = true;
    turns.shift()?.();
    await settled();
    assert.deepEqual([made, pages], [16, [16]]);
  });

  it('leave out what is there no more, and where nothing else is left there is none', async () => {
    const { pages, state, leave, stream, failed } = sink();
    const gone = new Set<number>([3]);
    const all = Array.from({ length: 30 }, (_, nth) => nth);
    sendPages(stream, all, (nth) => (gone.has(nth) ? undefined : Buffer.alloc(1)), atOnce, failed);
    await settled();
    for (const nth of all) gone.add(nth);
    leave();
    await settled();
    assert.deepEqual([pages, state], [[16], { isEnded: true, failure: undefined }]);
  });

  it('are made no more when the stream fails, when the call was cancelled, or when one cannot be made, which ends no process', async () => {
    const broken = sink();
    sendPages(broken.stream, Array<number>(17).fill(1), (size) => Buffer.alloc(size), atOnce, broken.failed);
    await settled();
    broken.leave(new Error('gone'));
    await settled();
    assert.deepEqual([broken.pages, broken.state.isEnded], [[16], false]);
    const over = sink();
    sendPages(over.stream, Array<number>(17).fill(1), (size) => Buffer.alloc(size), atOnce, over.failed);
    await settled();
    over.call.cancelled = true;
    over.leave();
    await settled();
    assert.deepEqual([over.pages, over.state.isEnded], [[16], false]);
    const odd = sink();
    const make = (nth: number): Buffer => {
      if (nth === 20) throw new RangeError('no time');
      return Buffer.alloc(1);
    };
    const all = Array.from({ length: 40 }, (_, nth) => nth);
    sendPages(odd.stream, all, make, atOnce, odd.failed);
    await settled();
    odd.leave();
    await settled();
    assert.deepEqual([odd.pages, odd.state.isEnded], [[16], false]);
    assert.ok(odd.state.failure instanceof RangeError);
  });
});
