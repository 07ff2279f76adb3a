import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { FairRoom } from '../../../src/kernel/fair-room.js';

const never = new AbortController().signal;

function bed() {
  const room = new FairRoom({ trusted: 4, other: 2, others: 3, isTrusted: (owner) => owner === 0 });
  const running: number[] = [];
  const leave: (() => void)[] = [];
  const want = (owner: number, times = 1): void => {
    for (let at = 0; at < times; at++) {
      void room.take(owner, never).then((done) => {
        running.push(owner);
        leave.push(done);
      });
    }
  };
  return { room, running, leave, want };
}

void describe('room that owners share', () => {
  void it('are few for an owner that wants many, and there for the next one', async () => {
    const { running, want } = bed();
    want(7, 1000);
    await turn();
    assert.deepEqual(running, [7, 7]);
    want(8);
    want(0, 5);
    await turn();
    assert.deepEqual(running, [7, 7, 8, 0, 0, 0, 0]);
  });

  void it('go round between those who wait', async () => {
    const { running, leave, want } = bed();
    want(7, 10);
    want(8, 10);
    want(9, 10);
    await turn();
    assert.equal(running.length, 3);
    for (let at = 0; at < 12; at++) {
      leave[at]?.();
      await turn();
    }
    for (const owner of [7, 8, 9]) assert.ok(running.filter((one) => one === owner).length >= 4, String(running));
  });

  void it('come to one that waits and has none, however often others leave and come again', () => {
    const { room } = bed();
    const running: { readonly owner: number; leave: () => void }[] = [];
    const enter = (owner: number): void => {
      const place = room.enter(owner, 1, () => void running.push({ owner, leave: () => place.leave() }));
      if (place.isGranted) running.push({ owner, leave: () => place.leave() });
    };
    for (const owner of [9, 1, 2]) enter(owner);
    for (const owner of [9, 3, 4]) enter(owner);
    // Each of the others leaves wholly, and comes again; the first owner waits for its next place all the time.
    let turns = 0;
    for (let round = 0; round < 20; round++) {
      const [one] = running.splice(0, 1);
      if (one?.owner === 9) turns += 1;
      one?.leave();
      enter(one?.owner ?? 0);
    }
    assert.ok(turns >= 3, String(turns));
  });

  void it('come after those who have none to owners who have some', async () => {
    const { running, leave, want } = bed();
    want(7, 4);
    want(8, 2);
    want(9, 1);
    await turn();
    assert.deepEqual(running, [7, 7, 8]);
    leave[0]?.();
    await turn();
    assert.deepEqual(running, [7, 7, 8, 9]);
  });

  void it('are given back once, and nobody waits in vain whose signal aborts', async () => {
    const { room, running, leave, want } = bed();
    want(7, 2);
    await turn();
    const halt = new AbortController();
    const late = room.take(7, halt.signal);
    halt.abort(new Error('given up'));
    await assert.rejects(late, /given up/);
    await assert.rejects(room.take(7, halt.signal), /given up/);
    leave[0]?.();
    leave[0]?.();
    assert.deepEqual(room.held(), [1]);
    want(7, 2);
    await turn();
    assert.equal(running.length, 3);
    assert.deepEqual(room.held(), [2]);
  });
});
