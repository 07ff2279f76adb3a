// How long each step of a stop may take. A DaemonSet grants 15 s in all, of which the process needs two for its last
// answers and lines.
import type { Clock } from './clock.js';

/** Calls in flight, the last write and the last events share this. */
const STOP_MS = 10_000;
/** What is not on disk this long after the first write was begun is given up: with the end of the process that is 5 s. */
const WRITING_MS = 3000;
/** Of that the checkpoint takes no more than this, so that the last events have their time. */
const FLUSH_MS = 2500;
/** Operators are answered for no longer than this after the stop began, successor or not. */
const LINGER_UNTIL_MS = 12_500;

/** So many milliseconds from now on, on the monotonic clock, for steps that share them: what one takes the next does not have. */
export class Budget {
  readonly #clock: Clock;
  readonly #until: number;

  constructor(clock: Clock, limitMs: number) {
    this.#clock = clock;
    this.#until = clock.mono() + limitMs;
  }

  /**
   * What is left for the next step.
   *
   * @param atMost milliseconds that the step may take where more is left
   */
  leftMs(atMost = Infinity): number {
    return Math.min(atMost, Math.max(0, this.#until - this.#clock.mono()));
  }
}

/** The budgets of one stop, from the moment it began. */
export class StopBudgets {
  readonly #steps: Budget;
  readonly #lingering: Budget;
  readonly #clock: Clock;
  #writing: Budget | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#steps = new Budget(clock, STOP_MS);
    this.#lingering = new Budget(clock, LINGER_UNTIL_MS);
  }

  /** Milliseconds for the last write. */
  flushMs(): number {
    return this.#writingMs(FLUSH_MS);
  }

  /** Milliseconds for the last events. */
  eventsMs(): number {
    return Math.max(WRITING_MS - FLUSH_MS, this.#writingMs(WRITING_MS));
  }

  /** Milliseconds for which a successor that waits is answered for. */
  lingerMs(limitMs: number): number {
    return this.#lingering.leftMs(limitMs);
  }

  /** Both writes are to the same disk: one that hangs is waited for once. */
  #writingMs(atMost: number): number {
    this.#writing ??= new Budget(this.#clock, WRITING_MS);
    return this.#steps.leftMs(this.#writing.leftMs(atMost));
  }
}
