// Something that all share has run out: told when that begins and when it is over, not each time that somebody meets it.
import type { Alarm, Clock } from '../kernel/clock.js';

/** It is over when nobody has met it for so long, in milliseconds: otherwise it would begin again and again. */
export const CALM_MS = 3_000;

/** Knows whether there is a shortage. */
export class Shortage {
  readonly #clock: Clock;
  readonly #over: () => void;
  readonly #mayEnd: () => boolean;
  #metAtMs = 0;
  /** When to look whether it is over; undefined while all is well. */
  #look: Alarm | undefined;
  #isClosed = false;

  /** @param mayEnd asked once nobody has met it for long enough */
  constructor(clock: Clock, over: () => void, mayEnd: () => boolean = () => true) {
    this.#clock = clock;
    this.#over = over;
    this.#mayEnd = mayEnd;
  }

  get isOn(): boolean {
    return this.#look !== undefined;
  }

  /** Somebody meets it. Returns whether it begins with that. */
  meet(): boolean {
    this.#metAtMs = this.#clock.mono();
    if (this.isOn || this.#isClosed) return false;
    this.#lookIn(CALM_MS);
    return true;
  }

  /** It neither begins nor ends any more. */
  close(): void {
    this.#isClosed = true;
    this.#look?.cancel();
  }

  #lookIn(delayMs: number): void {
    this.#look = this.#clock.alarm(delayMs, () => {
      const leftMs = this.#metAtMs + CALM_MS - this.#clock.mono();
      if (leftMs > 0 || !this.#mayEnd()) return this.#lookIn(leftMs > 0 ? leftMs : CALM_MS);
      this.#look = undefined;
      return this.#over();
    });
  }
}
