// Work that may hang for ever, such as on a disk or a mount that does not answer: each waiter has a deadline.
import { withDeadline, type Clock } from './clock.js';

/** Work on one part of the file system that may never answer. */
export class Patience {
  readonly #clock: Clock;
  readonly #limitMs: number;
  /** Work that took too long and may never end; until it ends nothing more is begun, because each holds a thread of the pool. */
  #hanging: Promise<unknown> | undefined;

  /** @param limitMs how long anybody waits for one piece of work where nothing else is said */
  constructor(clock: Clock, limitMs: number) {
    this.#clock = clock;
    this.#limitMs = limitMs;
  }

  /**
   * @param limitMs how long this piece of work is waited for
   * @throws Error when the work takes too long, or some before it still does
   */
  soon<T>(work: (signal: AbortSignal) => Promise<T>, limitMs = this.#limitMs): Promise<T> {
    if (this.#hanging !== undefined) return Promise.reject(new Error('the file system does not answer'));
    let running: Promise<T> | undefined;
    const late = (): Error => {
      const hanging = running?.catch(() => undefined).finally(() => (this.#hanging = undefined));
      this.#hanging = hanging;
      return new Error(`the file system did not answer within ${String(limitMs / 1000)} s`);
    };
    return withDeadline(this.#clock, limitMs, late, (signal) => (running = work(signal)));
  }
}
