// How long to wait before trying again. Pure: randomness comes in as a number.

/** Bounds of a growing wait; both in milliseconds. */
export interface BackoffBounds {
  readonly firstMs: number;
  readonly maxMs: number;
}

/**
 * Full jitter: a wait between zero and a ceiling that doubles with each failed attempt.
 *
 * @param attempt how many attempts have failed so far, from 1
 * @param random a number in [0, 1)
 * @returns milliseconds, never above `bounds.maxMs`
 */
export function backoffMs(attempt: number, bounds: BackoffBounds, random: number): number {
  const doublings = Math.min(Math.max(attempt - 1, 0), 30);
  return Math.floor(random * Math.min(bounds.maxMs, bounds.firstMs * 2 ** doublings));
}
