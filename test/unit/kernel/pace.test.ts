import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Pace } from '../../../src/kernel/pace.js';

describe('a pace', () => {
  it('lets the burst pass at once, and then so much as time pays for, for every sequence', () => {
    const BURST = 500;
    const pace = new Pace(BURST);
    let [now, spent] = [1_000, 0];
    // Costs of all sizes, with pauses and without.
    for (let step = 0; step < 2_000; step += 1) {
      const cost = 1 + ((step * 37) % 200);
      now += step % 5 === 0 ? (step * 13) % 90 : 0;
      const waitMs = pace.waitMs(cost, now);
      assert.equal(pace.book(cost, now), waitMs, 'it takes the time that was said before');
      now += waitMs;
      spent += cost;
      assert.ok(spent <= BURST + (now - 1_000), `${String(spent)} by ${String(now)}`);
    }
    assert.ok(spent >= 0.9 * (now - 1_000), 'and no less');
  });

  it('keeps no more than the burst of a pause', () => {
    const pace = new Pace(100);
    assert.equal(pace.book(1, 10), 0);
    assert.equal(pace.isFull(10), false);
    assert.equal(pace.isFull(11), true);
    assert.equal(pace.book(150, 1_000_000), 50);
  });

  it('gives back what was not done', () => {
    const pace = new Pace(100);
    pace.book(100, 0);
    assert.equal(pace.waitMs(40, 0), 40);
    pace.giveBack(60);
    assert.equal(pace.waitMs(40, 0), 0);
  });

  it('books no further ahead than it may, so that a caller that asks without end waits so long and no longer', () => {
    const pace = new Pace(100, 1_000);
    let longest = 0;
    for (let turn = 0; turn < 1_000; turn += 1) longest = Math.max(longest, pace.book(10, 0));
    assert.equal(longest, 1_010);
    assert.equal(pace.isFull(1_099), false);
    assert.equal(pace.isFull(1_100), true);
  });
});
