// Ids of leases: they grow with time and are never used again, so that a late word about an old lease touches nothing.
import type { Random } from '../kernel/random.js';

/** Digits and letters in the order of their codes, without those that are easily mistaken for others. */
const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz';
const TIME_DIGITS = 10;
const RANDOM_DIGITS = 16;

/** Makes ids of 26 characters: milliseconds since the epoch, then chance. */
export class LeaseIds {
  readonly #wall: () => number;
  readonly #random: Random;
  #last = 0;

  /** @param wall epoch milliseconds; steps of that clock make no id smaller than one before */
  constructor(wall: () => number, random: Random) {
    this.#wall = wall;
    this.#random = random;
  }

  /** A new id, greater than all that were made or seen. */
  next(): string {
    this.#last = Math.max(this.#last + 1, Math.floor(this.#wall()));
    let rest = this.#last;
    let time = '';
    for (let index = 0; index < TIME_DIGITS; index += 1) {
      time = (DIGITS[rest % DIGITS.length] ?? '0') + time;
      rest = Math.floor(rest / DIGITS.length);
    }
    const chance = Array.from({ length: RANDOM_DIGITS }, () => DIGITS[Math.floor(this.#random.next() * DIGITS.length)]);
    return time + chance.join('');
  }

  /** An id of an earlier life of the broker. */
  seen(id: string): void {
    let time = 0;
    for (let at = 0; at < TIME_DIGITS && at < id.length; at += 1)
      time = time * DIGITS.length + Math.max(0, DIGITS.indexOf(id[at] ?? ''));
    this.#last = Math.max(this.#last, time);
  }
}
