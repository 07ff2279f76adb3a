// A pace of each of several, such as users: so many turns at once, and one more each interval.
import { Pace } from './pace.js';

/** Accounts of the same size. One that is full is forgotten: nobody gains by it when it is opened again. Pure: the time comes in. */
export class Paces<Key> {
  readonly #burst: number;
  readonly #intervalMs: number;
  readonly #paces = new Map<Key, Pace>();

  /** @param figures turns at once after a pause, and milliseconds between two after that */
  constructor({ burst, intervalMs }: { readonly burst: number; readonly intervalMs: number }) {
    this.#burst = burst;
    this.#intervalMs = intervalMs;
  }

  /** Milliseconds until the next turn of one. */
  waitMs(key: Key, now: number): number {
    return this.#paces.get(key)?.waitMs(this.#intervalMs, now) ?? 0;
  }

  /** Takes the next turn of one. */
  book(key: Key, now: number): void {
    for (const [one, pace] of this.#paces) if (pace.isFull(now)) this.#paces.delete(one);
    const pace = this.#paces.get(key) ?? new Pace(this.#burst * this.#intervalMs);
    this.#paces.set(key, pace);
    pace.book(this.#intervalMs, now);
  }
}
