// Numbers that only grow and are read back from a file which a malicious user may have written.

/**
 * The highest number that a start goes on from. A billion a second would take three days to get there, the broker's own counters
 * take thousands of years; above it lies room for all that is counted until the next start.
 */
const HIGHEST = 2 ** 48;

/** The number to go on from: the counted one, or 0 where nobody can have counted that far, so that it stays exact. */
export function believable(counted: number): number {
  return counted <= HIGHEST ? counted : 0;
}
