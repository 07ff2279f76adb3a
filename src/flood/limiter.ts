// The port behind which Bottleneck stands: a bucket of permits that is spent at once, and a line of those that wait.
import type { BucketSettings } from '../model/settings.js';

/**
 * A bucket: `burst` permits when it is full, one more each `intervalMs`. BottleneckLimiter (platform/limits/bottleneck-limiter) is
 * it. Its promises, for every sequence of calls, of reloads and of steps of the wall clock:
 *
 * - in any span of time it gives out no more than `burst + span / intervalMs` permits;
 * - nobody passes those that wait, and their permits come as they are earned;
 * - each method answers at once and none throws; without anybody waiting it has no timer and no job.
 */
export interface Limiter {
  /** The settings in force. */
  readonly settings: BucketSettings;
  /** How many turns are waited for. */
  readonly waiting: number;
  /** Spends a permit if there is one and nobody waits. */
  tryTake(): boolean;
  /**
   * Joins the line. When a turn comes, a permit is spent and the first of the line that did not leave is told.
   *
   * @param come called once, from a timer, never from inside this call, and not at all after `leave` or `close`
   * @returns undefined when as many wait as may, or nothing is given out any more
   */
  join(come: () => void): WaitingTurn | undefined;
  /** Whole permits that can be spent now; 0 while somebody waits. */
  permits(): number;
  /** Whether nothing is missing: such a bucket can be forgotten and made again without anybody gaining by it. */
  isFull(): boolean;
  /** Milliseconds until a permit is there for a newcomer, behind those that wait; 0 when one is. */
  nextInMs(): number;
  /** Goes on under other settings with the permits it has (at most the new burst) and the part of one that is earned. */
  reload(settings: BucketSettings): void;
  /** Stops all timers. Afterwards there are no permits and no turns come. Idempotent. */
  close(): void;
}

/** A place in the line. BottleneckLimiter (platform/limits/bottleneck-limiter) gives it. */
export interface WaitingTurn {
  /** Gives the place up; those behind move forward. Nothing happens when the turn has come. */
  leave(): void;
}

/** Makes a full bucket. `bottleneckLimiters` (platform/limits/bottleneck-limiter) does. */
export type OpenLimiter = (settings: BucketSettings) => Limiter;
