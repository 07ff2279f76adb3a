// Memory that nobody needs any more is given back. V8 collects when something is made, and a broker that has nothing to do makes nothing:
// after four long lists, or a thousand connections, 50 to 130 MB that nobody holds would stay for as long as it is quiet. And the C library
// keeps what was collected, for the next time.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Alarm, Clock } from '../../kernel/clock.js';
import { ifPossible } from '../../kernel/if-possible.js';
import { loadedLibc } from '../peer/libc.js';

/** It is looked this often. */
const EVERY_MS = 15_000;
/** Less than this is not worth a collection, which keeps everybody waiting for 10 ms, and 50 with 500 plugins. */
const MUCH_BYTES = 16 * 1024 * 1024;
/** Collections are no more frequent than that, whoever makes garbage. */
const PAUSE_MS = 60_000;

/** The process, as `returnMemory` sees it. */
export interface MemoryPorts {
  readonly clock: Clock;
  /** Bytes of memory that are its own (resident set); undefined where there is no descriptor to look with. */
  readonly residentBytes: () => number | undefined;
  /** Collects what nobody holds, and gives it back to the system. */
  readonly collect: () => void;
}

/**
 * From now on collects where the process has grown by 16 MiB since it was smallest or collected, once a minute at most.
 *
 * @returns ends that; idempotent
 */
export function returnMemory({ clock, residentBytes, collect }: MemoryPorts): () => void {
  let [least, collectedAt] = [Infinity, -Infinity];
  let alarm: Alarm;
  const look = (): void => {
    alarm = clock.alarm(EVERY_MS, look);
    const bytes = residentBytes();
    if (bytes === undefined) return;
    least = Math.min(least, bytes);
    if (bytes - least < MUCH_BYTES || clock.mono() - collectedAt < PAUSE_MS) return;
    collect();
    collectedAt = clock.mono();
    least = residentBytes() ?? bytes;
  };
  look();
  return () => alarm.cancel();
}

/** The memory of this process. */
export const ownMemory: Omit<MemoryPorts, 'clock'> = {
  residentBytes: () => ifPossible(() => process.memoryUsage.rss()),
  collect: () => {
    setFlagsFromString('--expose-gc');
    // A context that is made now has it, and no other code does.
    ifPossible(() => (runInNewContext('gc') as () => void)());
    loadedLibc()?.trim();
  },
};
