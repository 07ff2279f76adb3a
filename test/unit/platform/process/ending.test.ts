import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StopBudgets } from '../../../../src/kernel/stop-budgets.js';
import { endInTime } from '../../../../src/platform/process/ending.js';
import { FakeClock } from '../../../support/fake-clock.js';

describe('the end of a process whose time is over', () => {
  it('comes whatever goes on', async () => {
    const clock = new FakeClock();
    let ends = 0;
    endInTime(clock, new StopBudgets(clock), () => (ends += 1));
    await clock.advance(4500);
    assert.equal(ends, 0);
    await clock.advance(500);
    assert.equal(ends, 1);
    assert.equal(clock.pending, 0);
  });

  it('comes later where a successor is waited for', async () => {
    const clock = new FakeClock();
    let ends = 0;
    const budgets = new StopBudgets(clock);
    endInTime(clock, budgets, () => (ends += 1));
    await clock.advance(2000);
    assert.equal(budgets.lingerMs(10_000), 10_000);
    await clock.advance(11_000);
    assert.equal(ends, 0);
    await clock.advance(1000);
    assert.equal(ends, 1);
  });
});
