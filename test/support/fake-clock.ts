import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Alarm, Clock } from '../../src/kernel/clock.js';

interface Pending {
  readonly at: number;
  readonly order: number;
  readonly ring: () => void;
}

/** A clock that moves only when told. Alarms ring one by one, and promises settle in between. */
export class FakeClock implements Clock {
  #now = 0;
  #wallOffset: number;
  #order = 0;
  readonly #pending = new Set<Pending>();

  constructor(wallStart = Date.UTC(2030, 0, 1)) {
    this.#wallOffset = wallStart;
  }

  /** Alarms that wait to ring; a test that ends with some has leaked them. */
  get pending(): number {
    return this.#pending.size;
  }

  wall(): number {
    return this.#wallOffset + this.#now;
  }

  mono(): number {
    return this.#now;
  }

  alarm(delayMs: number, ring: () => void): Alarm {
    const pending = { at: this.#now + Math.max(0, delayMs), order: this.#order++, ring };
    this.#pending.add(pending);
    return { cancel: () => void this.#pending.delete(pending) };
  }

  /** Sets the wall clock forward or back without time passing, as NTP or an operator does. */
  stepWall(ms: number): void {
    this.#wallOffset += ms;
  }

  /** Lets `ms` pass, ringing what falls due in order. */
  async advance(ms: number): Promise<void> {
    const until = this.#now + ms;
    await nextTurn();
    for (let due = this.#next(until); due !== undefined; due = this.#next(until)) {
      this.#pending.delete(due);
      this.#now = Math.max(this.#now, due.at);
      due.ring();
      await nextTurn();
    }
    this.#now = Math.max(this.#now, until);
  }

  /** Time passes within one piece of work: nothing rings. */
  pass(ms: number): void {
    this.#now += ms;
  }

  /** Lets promises settle without time passing. */
  async settle(): Promise<void> {
    await nextTurn();
    await nextTurn();
  }

  /** Lets time pass in small steps until a promise settles: for work that rests in between. */
  async until<T>(work: Promise<T>, stepMs = 10): Promise<T> {
    const going = Symbol('going on');
    const now = (): Promise<T | symbol> => Promise.race([work, nextTurn(going)]);
    while ((await now()) === going) await this.advance(stepMs);
    return work;
  }

  #next(until: number): Pending | undefined {
    let first: Pending | undefined;
    for (const candidate of this.#pending) {
      if (candidate.at > until) continue;
      if (
        first === undefined ||
        candidate.at < first.at ||
        (candidate.at === first.at && candidate.order < first.order)
      ) {
        first = candidate;
      }
    }
    return first;
  }
}
