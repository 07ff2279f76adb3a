// Changes that may wait: the first of a key at once, later ones at most once an interval, and of several the last.
import type { Alarm, Clock } from '../kernel/clock.js';

interface Turn {
  readonly alarm: Alarm;
  waiting: (() => void) | undefined;
}

/** Paces work by key. Keys that are quiet for an interval take no memory. */
export class Pacer {
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #turns = new Map<string, Turn>();

  constructor(clock: Clock, intervalMs: number) {
    this.#clock = clock;
    this.#intervalMs = intervalMs;
  }

  /** Runs `work` now, or when the interval of the key is over; later work of the key takes its place until then. */
  soon(key: string, work: () => void): void {
    const turn = this.#turns.get(key);
    if (turn !== undefined) turn.waiting = work;
    else this.#run(key, work);
  }

  /** Runs everything that waits, now. */
  flush(): void {
    for (const [key, { alarm, waiting }] of [...this.#turns]) {
      alarm.cancel();
      this.#turns.delete(key);
      waiting?.();
    }
  }

  /** Drops everything that waits. */
  stop(): void {
    for (const { alarm } of this.#turns.values()) alarm.cancel();
    this.#turns.clear();
  }

  #run(key: string, work: () => void): void {
    const alarm = this.#clock.alarm(this.#intervalMs, () => {
      const waiting = this.#turns.get(key)?.waiting;
      this.#turns.delete(key);
      if (waiting !== undefined) this.#run(key, waiting);
    });
    this.#turns.set(key, { alarm, waiting: undefined });
    work();
  }
}
