// Numbers that only grow and are read back from a file which a malicious user may have written.

/**
 * The highest number that a start goes on from. At a billion a second it is reached after three days, by the broker's own
 * counters after thousands of years; above it there is room for everything that is counted until the next start.
 */
const HIGHEST = 2 ** 48;

/** The number to go on from: the counted one, or 0 when it is too high to have been counted, so that counting stays exact. */
export function believable(counted: number): number {
  return counted <= HIGHEST ? counted : 0;
}
