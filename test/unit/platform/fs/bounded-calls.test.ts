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
    now += 60_000;
    assert.throws(() => late.call('readFolder', [1], OF_D), { code: 'ETIMEDOUT' }, 'what closing took counts, too');
    now += 60_000;
    assert.equal(late.call('readFolder', [1], OF_D), 1);
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
});
