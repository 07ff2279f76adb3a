// How often a name of ours was moved, or its socket made again: plugins register at each, and registrations are limited.
import type { Clock } from '../../kernel/clock.js';

/** A name is restless once it was moved so often in such a time. */
const AT_MOST = 5;
const WITHIN_MS = 10_000;

/** The moves of one name. */
export class NameMoves {
  readonly #clock: Clock;
  /** When it was moved last, oldest first. */
  #at: readonly number[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** It was moved now. */
  note(): void {
    this.#at = [...this.#at, this.#clock.mono()].slice(-AT_MOST);
  }

  /** Milliseconds until it was moved less often than that; 0: it was. */
  get restlessMs(): number {
    const first = this.#at.at(-AT_MOST);
    return first === undefined ? 0 : Math.max(0, first + WITHIN_MS - this.#clock.mono());
  }
}
