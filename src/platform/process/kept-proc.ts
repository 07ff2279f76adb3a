// The directory of our own process in /proc may be read by everybody, and who holds its lock has each look at a name in it wait that is
// not in the kernel's cache. The broker goes that way all the time (/proc/self/fd/N), and what leads there is pushed out of the cache where
// memory is short. What is open stays in it.
import { constants, openSync } from 'node:fs';
import { ifPossible } from '../../kernel/if-possible.js';
import { O_PATH } from '../fs/name-calls.js';

/** All that this program, and the library of its metrics, look for there. */
const NAMES = ['fd', 'fdinfo', 'task', 'stat', 'status', 'limits', 'mountinfo'] as const;

/** Keeps the names of our own process in the kernel's cache, for as long as it lives. @returns the descriptors that do it */
export function keepProc(): readonly number[] {
  return NAMES.flatMap((name) => ifPossible(() => openSync(`/proc/self/${name}`, O_PATH | constants.O_NOFOLLOW)) ?? []);
}
