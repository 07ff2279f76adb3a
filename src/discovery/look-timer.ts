// When everything is looked at: events get lost.
import type { Alarm, Clock } from '../kernel/clock.js';

/** Where events were lost: after so long, when those that are left have been taken; and so often for that at most. */
const LOST_AFTER_MS = 20;
const LOST_EVERY_MS = 500;

/** Looks at everything again and again, once it was started. */
export class LookTimer {
  readonly #clock: Clock;
  readonly #everyMs: () => number;
  readonly #look: () => void;
  #alarm: Alarm | undefined;
  #pollMs: number | undefined;
  /** Events were lost, and the alarm is set for that. */
  #isHurried = false;
  #lookedAt = -Infinity;

  /** @param everyMs milliseconds between two looks, read before each */
  constructor(clock: Clock, everyMs: () => number, look: () => void) {
    this.#clock = clock;
    this.#everyMs = everyMs;
    this.#look = look;
  }

  /** Looks for the first time after one interval. */
  start(): void {
    this.#alarm?.cancel();
    this.#isHurried = false;
    this.#alarm = this.#clock.alarm(this.#pollMs ?? this.#everyMs(), this.#due);
  }

  /** Where there are no events it looks this often; undefined: as usual. */
  setPolling(everyMs: number | undefined): void {
    this.#pollMs = everyMs;
    if (this.#alarm !== undefined && !this.#isHurried) this.start();
  }

  /** Events were lost: it looks soon. */
  hurry(): void {
    if (this.#isHurried || this.#alarm === undefined) return;
    this.#alarm.cancel();
    this.#isHurried = true;
    const waitMs = Math.max(LOST_AFTER_MS, this.#lookedAt + LOST_EVERY_MS - this.#clock.mono());
    this.#alarm = this.#clock.alarm(waitMs, this.#due);
  }

  /** Looks no more. */
  stop(): void {
    this.#alarm?.cancel();
    this.#alarm = undefined;
  }

  readonly #due = (): void => {
    this.#lookedAt = this.#clock.mono();
    this.#look();
    if (this.#alarm !== undefined) this.start();
  };
}
