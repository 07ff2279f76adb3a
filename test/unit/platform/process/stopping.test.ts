import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Stopping } from '../../../../src/platform/process/stopping.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { silentLog } from '../../../support/silence.js';

/** A broker that has stopped because a successor takes over, with a last write that is under way. */
async function bed() {
  const clock = new FakeClock();
  const store = { isWriting: true };
  const steps: string[] = [];
  const note = (what: string): void => void steps.push(`${what} at ${clock.mono()}`);
  const step = (what: string) => (): Promise<void> => {
    note(what);
    return Promise.resolve();
  };
  const stopping = new Stopping(
    {
      standing: { view: () => ({ phase: 'stopping' }) },
      store,
      stop: () => Promise.resolve(),
      broker: { linger: step('answers until it is replaced'), closeOperators: step('ends') },
    },
    { clock, log: silentLog, pid: 1, endNow: () => note('ends at once') },
  );
  stopping.handOver();
  await stopping.done;
  const lock = { look: () => Promise.resolve(false), release: step('gives the lock up') };
  return { clock, store, steps, stopping, lock };
}

void describe('a broker that a successor waits for', () => {
  void it('gives the lock up once its last write has ended, and only then waits to be replaced', async () => {
    const { clock, store, steps, stopping, lock } = await bed();
    const left = stopping.leave(lock);
    await clock.advance(1000);
    assert.deepEqual(steps, []);
    store.isWriting = false;
    await clock.advance(20);
    await left;
    assert.deepEqual(steps, ['gives the lock up at 1020', 'answers until it is replaced at 1020', 'ends at 1020']);
  });

  void it('ends in time without waiting for it where the last write hangs', async () => {
    const { clock, steps, stopping, lock } = await bed();
    const left = stopping.leave(lock);
    await clock.advance(4500);
    await left;
    assert.deepEqual(steps, ['ends at 3700']);
  });

  void it('ends in time without waiting for it where the lock cannot be given up', async () => {
    const { clock, store, steps, stopping, lock } = await bed();
    store.isWriting = false;
    const left = stopping.leave({ ...lock, release: () => new Promise(() => undefined) });
    await clock.advance(1000);
    await left;
    assert.deepEqual(steps, ['ends at 1000']);
  });
});
