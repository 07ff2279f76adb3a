import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Stopping } from '../../../../src/platform/process/stopping.js';
import { sleep } from '../../../../src/kernel/clock.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { silentLog } from '../../../support/silence.js';

/** A broker that has stopped because a successor takes over, with a last write that is under way. */
async function bed(isLockHeld = () => true) {
  const clock = new FakeClock();
  const store = { isWriting: true };
  const successor = { answersInMs: 0 };
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
      broker: {
        linger: async (limitMs, signal) => {
          note('answers until it is replaced');
          if (successor.answersInMs > 0)
            await sleep(clock, Math.min(limitMs, successor.answersInMs), signal).catch(() => undefined);
        },
        closeOperators: step('ends'),
      },
    },
    {
      ...{ clock, log: silentLog, pid: 1 },
      isLockHeld: () => Promise.resolve(isLockHeld()),
      endNow: () => note('ends at once'),
    },
  );
  stopping.handOver();
  await stopping.done;
  const lock = { look: () => Promise.resolve(false), release: step('gives the lock up') };
  return { clock, store, successor, steps, stopping, lock };
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

  void it('goes on answering for it as long as it has the lock, ten seconds at most', async () => {
    let looks = 0;
    // It takes it late, and once it cannot be asked.
    const { clock, store, successor, steps, stopping, lock } = await bed(() => ![1, 4].includes((looks += 1)));
    Object.assign(store, { isWriting: false });
    Object.assign(successor, { answersInMs: 60_000 });
    const left = stopping.leave(lock);
    await clock.advance(10_000);
    await left;
    assert.deepEqual(steps.slice(1), ['answers until it is replaced at 0', 'ends at 10000']);
  });

  void it('ends soon where nobody takes the lock: its supervisor, or that of the dead successor, waits for that', async () => {
    const { clock, store, successor, steps, stopping, lock } = await bed(() => false);
    Object.assign(store, { isWriting: false });
    Object.assign(successor, { answersInMs: 60_000 });
    const left = stopping.leave(lock);
    await clock.advance(2000);
    await left;
    assert.deepEqual(steps.slice(1), ['answers until it is replaced at 0', 'ends at 2000']);
  });
});
