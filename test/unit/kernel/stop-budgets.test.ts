import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StopBudgets } from '../../../src/kernel/stop-budgets.js';
import { FakeClock } from '../../support/fake-clock.js';

/** The time that SIGTERM may take, and the delay of a busy machine with everything. */
const [LIMIT_MS, LATE_MS] = [5000, 300];

describe('the way out', () => {
  it('takes less than 5 s, however long each step takes', async () => {
    const clock = new FakeClock();
    const way = new StopBudgets(clock);
    await clock.advance(way.callsMs());
    await clock.advance(way.flushMs()); // strikes
    assert.equal(way.flushMs(), 0);
    await clock.advance(way.eventsMs());
    await clock.advance(way.endMs(300)); // watchers
    await clock.advance(way.endMs(300)); // the lock
    await clock.advance(way.endMs(1000)); // calls of operators
    assert.ok(clock.mono() <= LIMIT_MS - LATE_MS, String(clock.mono()));
    assert.equal(way.endMs(), 0);
  });

  it('waits for a disk that hangs once, and leaves the process time to end', async () => {
    const clock = new FakeClock();
    const way = new StopBudgets(clock);
    await clock.advance(way.flushMs());
    await clock.advance(way.eventsMs());
    assert.equal(clock.mono(), 3000);
    assert.ok(way.endMs() > 1000);
  });

  it('takes less than the 15 s that a DaemonSet grants where a successor is waited for', async () => {
    const clock = new FakeClock();
    const way = new StopBudgets(clock);
    await clock.advance(4500);
    await clock.advance(way.lingerMs(10_000));
    assert.equal(clock.mono(), 12_500);
    assert.ok(way.endMs() >= 1000, 'for the last answers');
    await clock.advance(way.endMs());
    assert.ok(clock.mono() < 15_000);
  });
});
