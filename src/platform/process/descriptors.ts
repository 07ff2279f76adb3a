// How many file descriptors are left. libuv answers EMFILE on accept by closing the connections that wait, and tells
// nobody: whoever wants to know has to look before.
import { closeSync, openSync, readFileSync } from 'node:fs';

/** What is kept for files, pins and connections to plugins when connections of others want everything. */
const RESERVE = 128;
/** Small limits keep a part of them. */
const RESERVED_PART = 1 / 4;

/** Looks at the descriptors of this process. */
export class Descriptors {
  /** How many it may have open at once (RLIMIT_NOFILE, which Node raises to the hard limit at its start). */
  readonly limit: number = openFilesLimit();
  readonly #enough = this.limit - Math.min(RESERVE, Math.ceil(this.limit * RESERVED_PART));

  /** Whether only the reserve is left. The kernel gives the lowest free number, so one that is open tells. Microseconds. */
  areScarce(): boolean {
    try {
      const lowestFree = openSync('/dev/null', 'r');
      closeSync(lowestFree);
      return lowestFree >= this.#enough;
    } catch {
      return true; // EMFILE, or ENFILE: the whole machine has none
    }
  }
}

function openFilesLimit(): number {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? Infinity : Number(soft);
  } catch {
    return Infinity;
  }
}
