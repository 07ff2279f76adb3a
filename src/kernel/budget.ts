// Time that steps share.
import type { Clock } from './clock.js';

/**
 * So many milliseconds from now on, on the monotonic clock, for steps that share them: the time of one step is lost to the next.
 */
export class Budget {
  readonly #clock: Clock;
  readonly #until: number;

  constructor(clock: Clock, limitMs: number) {
    this.#clock = clock;
    this.#until = clock.mono() + limitMs;
  }

  /** The milliseconds left for the next step. @param atMost milliseconds that the step may take where more is left */
  leftMs(atMost = Infinity): number {
    return Math.min(atMost, Math.max(0, this.#until - this.#clock.mono()));
  }
}
