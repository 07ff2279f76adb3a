import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AskingTurns } from '../../../src/registration/asking-turns.js';
import { FakeClock } from '../../support/fake-clock.js';

describe('turns of registration sockets', () => {
  it('are shared by the owner that discovery names', async () => {
    const turns = new AskingTurns(new FakeClock(), 7);
    const halt = new AbortController();
    const taken = new Map<number, number>();
    for (const owner of [0, 7, 4001, -1]) {
      for (let nth = 0; nth < 40; nth += 1) {
        turns.take(owner, halt.signal).then(
          () => taken.set(owner, (taken.get(owner) ?? 0) + 1),
          () => undefined,
        );
      }
    }
    await new Promise(setImmediate);
    assert.deepEqual(Object.fromEntries(taken), { 0: 40, 7: 40, 4001: 16, [-1]: 16 });
    assert.ok(turns.isCrowded(4001) && !turns.isCrowded(4002));
    await turns.take(4002, halt.signal);
    halt.abort(new Error('the test is over'));
  });
});
