import type { Alarm, Clock } from '../../kernel/clock.js';

/** One timer for many deadlines: it only ever moves to an earlier time, and its callback says when to ring again. */
export class LazyAlarm {
  readonly #clock: Clock;
  readonly #ring: () => void;
  #alarm: Alarm | undefined;
  #at = Infinity;
  #isStopped = false;

  /** @param ring called when the time has come; it calls ringAt() for the next one */
  constructor(clock: Clock, ring: () => void) {
    this.#clock = clock;
    this.#ring = ring;
  }

  /** Rings at `at` (monotonic milliseconds) at the latest; does nothing when it rings earlier anyway. */
  ringAt(at: number): void {
    if (at >= this.#at || this.#isStopped) return;
    this.#alarm?.cancel();
    this.#at = at;
    this.#alarm = this.#clock.alarm(at - this.#clock.mono(), () => {
      this.#at = Infinity;
      this.#ring();
    });
  }

  /** Never rings again. */
  stop(): void {
    this.#isStopped = true;
    this.#alarm?.cancel();
  }
}
