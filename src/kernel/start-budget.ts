// How long the disk may keep a start from serving: all steps before kubelet.sock share one budget, whatever their own limits add
// up to.
import { Budget } from './budget.js';
import type { Clock } from './clock.js';

/** The least that the steps have, milliseconds: with less a disk on a busy machine would be taken for one that hangs. */
const LEAST_MS = 2000;

/** The time of a start; before and after it a step has its own limit alone. */
export class StartBudget {
  readonly #clock: Clock;
  #budget: Budget | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * The start begins.
   *
   * @param limitMs milliseconds for all steps; of less than two seconds, two seconds
   * @param spentMs milliseconds that were spent of them already
   */
  begin(limitMs: number, spentMs: number): void {
    this.#budget = new Budget(this.#clock, Math.max(LEAST_MS, limitMs) - spentMs);
  }

  /** The start is over. */
  end(): void {
    this.#budget = undefined;
  }

  /** The milliseconds that a step may take now. @param atMost its own limit, milliseconds */
  readonly leftMs = (atMost: number): number => Math.ceil(this.#budget?.leftMs(atMost) ?? atMost);
}
