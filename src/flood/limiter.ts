// The port behind which Bottleneck stands: a bucket of permits that is spent without waiting.
import type { BucketSettings } from '../model/settings.js';

/**
 * A bucket: `burst` permits when it is full, one more each `intervalMs`. Its promises, for every sequence of calls, of
 * reloads and of steps of the wall clock:
 *
 * - in any span of time it gives out no more than `burst + span / intervalMs` permits, a reserved one counting when its
 *   turn comes;
 * - what it holds back of that is no more than one refill step;
 * - each method answers at once and none throws; a full bucket has no timer and no job.
 */
export interface Limiter {
  /** The settings in force. */
  readonly settings: BucketSettings;
  /** Spends a permit if there is one. */
  tryTake(): boolean;
  /**
   * Spends the next permit ahead of time, so that those who wait have different turns and none jumps the queue.
   *
   * @returns milliseconds until its turn (0: now), or undefined, with nothing spent, when that is more than `maxWaitMs`
   */
  reserve(maxWaitMs: number): number | undefined;
  /** Whole permits that can be spent now; 0 while reserved turns are outstanding. */
  permits(): number;
  /** Whether nothing is missing: such a bucket can be forgotten and made again without anybody gaining by it. */
  isFull(): boolean;
  /** Milliseconds until a permit is there; 0 when one is. */
  nextInMs(): number;
  /** Goes on under other settings with the permits it has (at most the new burst) and the part of one that is earned. */
  reload(settings: BucketSettings): void;
  /** Stops what runs. Afterwards there are no permits. Idempotent. */
  close(): void;
}

/** Makes a full bucket. */
export type OpenLimiter = (settings: BucketSettings) => Limiter;
