import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { OrderlyEnd } from '../../../src/kernel/orderly-end.js';
import { FakeClock } from '../../support/fake-clock.js';

describe('an orderly end', () => {
  it('goes on to the next part where one fails or hangs, and says which were left', async () => {
    const clock = new FakeClock();
    const ends = new OrderlyEnd(clock);
    const done: string[] = [];
    const all = (async () => {
      await ends.of('the sockets', () => new Promise<never>(() => undefined), 400);
      await ends.of('the disk', () => Promise.reject(new Error('EIO')), 1_000);
      await ends.of('the sessions', () => void done.push('sessions'), 1_000);
    })();
    await clock.advance(399);
    assert.deepEqual(done, []);
    await clock.advance(1);
    await all;
    assert.deepEqual(done, ['sessions']);
    assert.equal(ends.left, 'the sockets (it did not end within 400 ms); the disk (EIO)');
    assert.equal(clock.pending, 0);
  });

  it('has left nothing where every part ends', async () => {
    const clock = new FakeClock();
    const ends = new OrderlyEnd(clock);
    await ends.of('a part', () => 'whatever it gives', 10);
    assert.equal(ends.left, undefined);
    assert.equal(clock.pending, 0);
  });
});
