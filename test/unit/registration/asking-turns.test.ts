import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AskingTurns } from '../../../src/registration/asking-turns.js';
import { FakeClock } from '../../support/fake-clock.js';

describe('turns of registration sockets', () => {
  it('are those of one user for all uids of its range', async () => {
    const turns = new AskingTurns(new FakeClock(), 0, (uid) => (uid >= 100_000 ? 4001 : uid));
    const halt = new AbortController();
    let taken = 0;
    for (let nth = 0; nth < 40; nth += 1) {
      turns.take({ uid: 100_000 + nth }, halt.signal).then(
        () => (taken += 1),
        () => undefined,
      );
    }
    await new Promise(setImmediate);
    assert.equal(taken, 16);
    assert.ok(turns.isCrowded({ uid: 4001 }) && !turns.isCrowded({ uid: 4002 }));
    await turns.take({ uid: 4002 }, halt.signal);
    halt.abort(new Error('the test is over'));
  });
});
