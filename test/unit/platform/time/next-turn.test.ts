import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nextTurn, onceATurn } from '../../../../src/platform/time/next-turn.js';

void describe('work that is done once a turn', () => {
  void it('is done once for each argument, and again in the next turn', async () => {
    const done: string[] = [];
    const work = onceATurn((argument) => done.push(argument));
    for (const argument of ['a', 'b', 'a', 'b', 'a']) work(argument);
    assert.deepEqual(done, ['a', 'b']);
    await nextTurn();
    work('a');
    assert.deepEqual(done, ['a', 'b', 'a']);
  });

  void it('is tried again at once where it failed', () => {
    let tries = 0;
    const work = onceATurn(() => {
      tries += 1;
      if (tries === 1) throw new Error('not yet');
    });
    assert.throws(() => work('a'), /not yet/);
    work('a');
    work('a');
    assert.equal(tries, 2);
  });
});
