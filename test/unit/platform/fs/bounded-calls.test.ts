import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BoundedCalls, type Calls } from '../../../../src/platform/fs/bounded-calls.js';

/** A thread that answers, until a call of some name keeps it for as long as it may. */
function thread(hangsIn?: string): Calls & { isOver: boolean; readonly made: string[] } {
  const made: string[] = [];
  return {
    isOver: false,
    made,
    call: (name, _args, mostMs) => {
      made.push(name);
      return name === hangsIn ? { answer: undefined, keptMs: mostMs } : { answer: { value: 7 }, keptMs: 0 };
    },
  };
}

const FACTS = { ownUid: 0, userOf: (uid: number): number => uid };

describe('folders that a thread has open', () => {
  const folder = ['/d/.'];
  const OF_D = ['/d'];

  it('are closed without a failure where that hangs, and their directory does not answer until it returns', () => {
    const [first, second] = [thread('closeFolder'), thread()];
    const threads = [first, second];
    const calls = new BoundedCalls(
      () => 0,
      FACTS,
      undefined,
      () => threads.shift(),
    );
    const places = calls.placesOf(...folder);
    assert.deepEqual(places, OF_D);
    const id = calls.call('openFolder', folder, places) as number;
    calls.closeFolder(calls.thread, id, places);
    assert.equal(calls.isLate, true);
    assert.throws(() => calls.call('readFolder', [id], places), { code: 'ETIMEDOUT' });
    assert.equal(calls.call('openFolder', ['/e'], calls.placesOf('/e/.')), 7, 'others go on');
    calls.closeFolder(first, id, places);
    assert.deepEqual([first.made, second.made], [['openFolder', 'closeFolder'], ['openFolder']]);
    first.isOver = true;
    assert.equal(calls.call('openFolder', folder, places), 7);
  });

  it('are closed where their place is refused everything else', () => {
    let now = 0;
    const slow = { isOver: false, call: () => ({ answer: { value: 1 }, keptMs: 5000 }) };
    const late = new BoundedCalls(
      () => now,
      FACTS,
      undefined,
      () => slow,
    );
    late.call('openFolder', folder, OF_D);
    assert.throws(() => late.call('readFolder', [1], OF_D), { code: 'ETIMEDOUT' });
    late.closeFolder(slow, 1, OF_D);
    now += 300_000;
    assert.throws(() => late.call('readFolder', [1], OF_D), { code: 'ETIMEDOUT' }, 'what closing took counts, too');
    now += 300_000;
    assert.equal(late.call('readFolder', [1], OF_D), 1);
  });
});

/** Threads that hang in each call while what it goes by is held, for as long as they may. */
class Held {
  isHeld = true;
  waitedMs = 0;
  now = 0;
  /** For how long calls might have hung that did not. */
  readonly mostMs: number[] = [];
  #hung: { isOver: boolean }[] = [];
  readonly calls = new BoundedCalls(
    () => this.now,
    FACTS,
    undefined,
    () => this.#thread(),
  );

  /** Has the calls return that hang. */
  release(): void {
    for (const one of this.#hung) one.isOver = true;
    this.#hung = [];
  }

  /** A call that hangs, and returns later. */
  hang(place: string): void {
    assert.throws(() => this.calls.call('openFolder', [], [place]), { code: 'ETIMEDOUT' });
    this.release();
  }

  #thread(): Calls {
    const one = {
      isOver: false,
      call: (_name: string, _args: unknown, mostMs: number) => {
        if (!this.isHeld) {
          this.mostMs.push(mostMs);
          return { answer: { value: 7 }, keptMs: 0 };
        }
        this.now += mostMs;
        this.waitedMs += mostMs;
        this.#hung.push(one);
        return { answer: undefined, keptMs: mostMs };
      },
    };
    return one;
  }
}

describe('what is root’s, and anybody may hold', () => {
  it('costs a second in all, and little after that, however many directories there are', () => {
    const held = new Held();
    let first = 0;
    for (let half = 0; half < 120; half += 1) {
      for (let nth = 0; nth < 6; nth += 1) held.hang(`/held${String(nth)}`);
      held.now += 500;
      if (half === 20) first = held.waitedMs;
    }
    assert.ok(first < 2000, `${String(first)} ms in ten seconds`);
    assert.ok(held.waitedMs - first < 2500, `${String(held.waitedMs - first)} ms in the next 50`);
  });

  it('costs little, however many processes of root’s come', () => {
    const held = new Held();
    for (let pid = 1; pid <= 60; pid += 1) {
      held.hang(`shown /proc/${String(pid)}`);
      held.now += 1000;
    }
    assert.ok(held.waitedMs < 1000 + 60 * 30, `${String(held.waitedMs)} ms in a minute`);
  });

  it('answers soon after it was let go, and where it kept nobody waiting at any time', () => {
    const held = new Held();
    for (let nth = 0; nth < 100; nth += 1) held.hang(`/held${String(nth % 4)}`);
    assert.ok(held.waitedMs < 1500, `${String(held.waitedMs)} ms`);
    held.isHeld = false;
    assert.throws(() => held.calls.call('openFolder', [], ['/held0']), { code: 'ETIMEDOUT' });
    assert.equal(held.calls.call('openFolder', [], ['/other']), 7);
    assert.deepEqual(held.mostMs, [20]);
    held.now += 3000;
    assert.equal(held.calls.call('openFolder', [], ['/held0']), 7);
    assert.deepEqual(held.mostMs, [20, 20]);
    held.now += 120_000;
    assert.equal(held.calls.call('openFolder', [], ['/held0']), 7);
    assert.deepEqual(held.mostMs, [20, 20, 250]);
  });
});

describe('threads that hang', () => {
  it('are half for directories of root, whatever ordinary users hold', () => {
    const hung: Calls[] = [];
    const calls = new BoundedCalls(
      () => 0,
      FACTS,
      undefined,
      () => {
        const one = thread('renameSync');
        hung.push(one);
        return one;
      },
    );
    const hang = (place: string): void =>
      assert.throws(() => calls.call('renameSync', [], [place]), { code: 'ETIMEDOUT' });
    for (let user = 1; user <= 8; user += 1) hang(`uid ${String(user)}`);
    assert.equal(hung.length, 9);
    assert.throws(() => calls.call('mkdirSync', [], ['uid 9']), { code: 'ETIMEDOUT' });
    assert.equal(calls.call('mkdirSync', [], ['/d']), 7);
    for (let nth = 1; nth <= 8; nth += 1) hang(`/held${String(nth)}`);
    assert.throws(() => calls.call('mkdirSync', [], ['/d']), { code: 'ETIMEDOUT' });
  });

  it('in what is shown of root’s processes leave the processes and directories of others to be seen', () => {
    const calls = new BoundedCalls(
      () => 0,
      FACTS,
      undefined,
      () => thread('openSync'),
    );
    for (let pid = 1; pid <= 9; pid += 1)
      assert.throws(() => calls.call('openSync', [], [calls.placeShown(`/proc/${String(pid)}/stat`, 0)]), {
        code: 'ETIMEDOUT',
      });
    assert.equal(calls.call('openFolder', [], [calls.placeShown('/proc/77/stat', 4002)]), 7);
    assert.equal(calls.call('openFolder', [], ['uid 4002']), 7);
    assert.equal(calls.call('openFolder', [], ['/d']), 7);
  });
});
