// One waits, many wake.
import { timerMs } from '../kernel/clock.js';

/** Wakes up the waiter. An event that came while nobody waited counts at once; of several, the last. */
export class WakeUp<What> {
  #pending: What | undefined;
  #wake: ((what: What | undefined) => void) | undefined;
  #isOver = false;

  /** Something happened. */
  ring(what: What): void {
    if (this.#wake === undefined) this.#pending = what;
    else this.#wake(what);
  }

  /** Ends the waiting, now and for ever. */
  end(): void {
    this.#isOver = true;
    this.#wake?.(undefined);
  }

  /** Whether `end` was called. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Waits for the next ring; gives undefined after `pauseMs`, or when it is over. Without a pause it waits for ever. */
  async wait(pauseMs?: number): Promise<What | undefined> {
    const pending = this.#pending;
    this.#pending = undefined;
    if (pending !== undefined || this.#isOver) return pending;
    let timer: NodeJS.Timeout | undefined;
    const what = await new Promise<What | undefined>((resolve) => {
      this.#wake = resolve;
      if (pauseMs !== undefined) timer = setTimeout(() => resolve(undefined), timerMs(pauseMs));
    });
    clearTimeout(timer);
    this.#wake = undefined;
    return what;
  }
}
