// A pace of each of several, such as users: so many turns at once, and one more each interval.
import { Turns, type TurnFigures } from './pace.js';

/** Accounts that are kept; beyond them the one that was asked for longest ago is forgotten. */
const MOST = 1024;

/** Accounts of the same size. One that is full is forgotten: nobody gains by it when it is opened again. Pure: the time comes in. */
export class Paces<Key> {
  readonly #figures: TurnFigures;
  /** The one that was asked for last is last. */
  readonly #accounts = new Map<Key, Turns>();

  constructor(figures: TurnFigures) {
    this.#figures = figures;
  }

  /** Milliseconds until the next turn of one. */
  waitMs(key: Key, now: number): number {
    return this.#accounts.get(key)?.waitMs(now) ?? 0;
  }

  /** Takes the next turn of one, if it is there now. @returns whether it is */
  take(key: Key, now: number): boolean {
    return this.#asked(key, now, (turns) => turns.take(now));
  }

  /** Takes the next turn of one, or so many. @returns milliseconds until it comes, and takes one back */
  book(key: Key, now: number, count = 1): { readonly waitMs: number; readonly giveBack: () => void } {
    return this.#asked(key, now, (turns) => ({ waitMs: turns.book(count, now), giveBack: () => turns.giveBack() }));
  }

  #asked<T>(key: Key, now: number, ask: (turns: Turns) => T): T {
    const turns = this.#accounts.get(key) ?? new Turns(this.#figures);
    this.#accounts.delete(key);
    this.#accounts.set(key, turns);
    const answer = ask(turns);
    for (const [oldest, old] of this.#accounts) {
      if (!old.isFull(now) && this.#accounts.size <= MOST) break;
      this.#accounts.delete(oldest);
    }
    return answer;
  }
}
