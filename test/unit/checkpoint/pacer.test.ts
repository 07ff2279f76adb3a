import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { Pacer } from '../../../src/checkpoint/pacer.js';
import { FakeClock } from '../../support/fake-clock.js';

describe('the pacer', () => {
  it('runs the first at once and, of those that come within the interval, the last at its end', async () => {
    const clock = new FakeClock();
    const pacer = new Pacer(clock, 1000);
    const ran: string[] = [];
    for (const work of ['a1', 'a2', 'a3']) pacer.soon('a', () => ran.push(work));
    pacer.soon('b', () => ran.push('b1'));
    assert.deepEqual(ran, ['a1', 'b1']);
    await clock.advance(999);
    assert.deepEqual(ran, ['a1', 'b1']);
    await clock.advance(1);
    assert.deepEqual(ran, ['a1', 'b1', 'a3']);
    await clock.advance(1000);
    assert.equal(clock.pending, 0);
  });

  it('runs no more than once an interval, however many come', async () => {
    const clock = new FakeClock();
    const pacer = new Pacer(clock, 1000);
    let ran = 0;
    for (let ms = 0; ms < 10_000; ms += 10) {
      pacer.soon('a', () => (ran += 1));
      await clock.advance(10);
    }
    assert.equal(ran, 11, 'one at once, and one at the end of each of ten intervals');
  });

  it('runs everything that waits when it is flushed, once', async () => {
    const clock = new FakeClock();
    const pacer = new Pacer(clock, 1000);
    const ran: string[] = [];
    for (const work of ['a1', 'a2', 'a3']) pacer.soon('a', () => ran.push(work));
    pacer.flush();
    pacer.flush();
    assert.deepEqual(ran, ['a1', 'a3']);
    assert.equal(clock.pending, 0);
  });

  it('drops what waits when it is stopped', async () => {
    const clock = new FakeClock();
    const pacer = new Pacer(clock, 1000);
    const ran: string[] = [];
    for (const work of ['a1', 'a2']) pacer.soon('a', () => ran.push(work));
    pacer.stop();
    await clock.advance(5000);
    assert.deepEqual(ran, ['a1']);
    assert.equal(clock.pending, 0);
  });
});
