import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Budget } from '../../../src/kernel/budget.js';
import { FakeClock } from '../../support/fake-clock.js';

describe('a budget that steps share', () => {
  it('gives each what is left, never more than it asks for and never less than nothing', async () => {
    const clock = new FakeClock();
    const budget = new Budget(clock, 10_000);
    assert.deepEqual([budget.leftMs(), budget.leftMs(5000)], [10_000, 5000]);
    await clock.advance(7000);
    assert.deepEqual([budget.leftMs(), budget.leftMs(5000)], [3000, 3000]);
    clock.stepWall(3_600_000);
    assert.equal(budget.leftMs(), 3000, 'a clock that is set ends nothing');
    await clock.advance(7000);
    assert.equal(budget.leftMs(5000), 0);
  });
});
