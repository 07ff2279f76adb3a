// A pace of each of several, such as users: so many turns at once, and one more each interval.
import { Pace } from './pace.js';

/** Accounts that are kept; beyond them the one that was asked for longest ago is forgotten. */
const MOST = 1024;

/** The size of each account. */
export interface PaceFigures {
  /** Turns at once after a pause. */
  readonly burst: number;
  /** Milliseconds until there is one more. */
  readonly intervalMs: number;
}

/** Accounts of the same size. One that is full is forgotten: nobody gains by it when it is opened again. Pure: the time comes in. */
export class Paces<Key> {
  readonly #burst: number;
  readonly #intervalMs: number;
  /** The one that was asked for last is last. */
  readonly #paces = new Map<Key, Pace>();

  constructor({ burst, intervalMs }: PaceFigures) {
    this.#burst = burst;
    this.#intervalMs = intervalMs;
  }

  /** Milliseconds until the next turn of one. */
  waitMs(key: Key, now: number): number {
    return this.#paces.get(key)?.waitMs(this.#intervalMs, now) ?? 0;
  }

  /** Takes the next turn of one, if it is there now. @returns whether it is */
  take(key: Key, now: number): boolean {
    return this.#asked(key, now, (pace) => pace.take(this.#intervalMs, now));
  }

  /** Takes the next turn of one. @returns milliseconds until it comes, and takes it back */
  book(key: Key, now: number): { readonly waitMs: number; readonly giveBack: () => void } {
    return this.#asked(key, now, (pace) => ({
      waitMs: pace.book(this.#intervalMs, now),
      giveBack: () => pace.giveBack(this.#intervalMs),
    }));
  }

  #asked<T>(key: Key, now: number, ask: (pace: Pace) => T): T {
    const pace = this.#paces.get(key) ?? new Pace(this.#burst * this.#intervalMs);
    this.#paces.delete(key);
    this.#paces.set(key, pace);
    const answer = ask(pace);
    for (const [oldest, old] of this.#paces) {
      if (!old.isFull(now) && this.#paces.size <= MOST) break;
      this.#paces.delete(oldest);
    }
    return answer;
  }
}
