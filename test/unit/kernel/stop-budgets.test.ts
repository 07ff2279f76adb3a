import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StopBudgets } from '../../../src/kernel/stop-budgets.js';
import { FakeClock } from '../../support/fake-clock.js';

describe('the way out', () => {
  it('takes less than the 15 s that a DaemonSet grants, however long each step takes', async () => {
    const clock = new FakeClock();
    const way = new StopBudgets(clock);
    await clock.advance(5000 + 2000); // calls in flight, and a write that cannot be made
    await clock.advance(way.flushMs());
    await clock.advance(way.eventsMs());
    await clock.advance(way.lingerMs(10_000));
    assert.ok(clock.mono() <= 13_000, String(clock.mono()));
  });

  it('waits for a disk that hangs once, and leaves the process time to end within 5 s', async () => {
    const clock = new FakeClock();
    const way = new StopBudgets(clock);
    await clock.advance(way.flushMs());
    await clock.advance(way.eventsMs());
    assert.equal(clock.mono(), 3000);
  });
});
