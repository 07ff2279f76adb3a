// Work that is to be done later, until the alarms are closed.
import type { Alarm, Clock } from '../kernel/clock.js';

/** Alarms of one keeper; some have a name, and are set anew in the place of the one before. */
export class Alarms {
  readonly #clock: Clock;
  readonly #all = new Set<Alarm>();
  readonly #named = new WeakMap<object, Alarm>();
  #isStopped = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @param name an alarm of the same name is cancelled */
  set(ms: number, ring: () => void, name?: object): void {
    if (this.#isStopped) return;
    const before = name === undefined ? undefined : this.#named.get(name);
    if (before !== undefined) {
      before.cancel();
      this.#all.delete(before);
    }
    const alarm = this.#clock.alarm(Math.max(0, ms), () => {
      this.#all.delete(alarm);
      ring();
    });
    this.#all.add(alarm);
    if (name !== undefined) this.#named.set(name, alarm);
  }

  /** Cancels all of them, for good. */
  stop(): void {
    this.#isStopped = true;
    for (const alarm of this.#all) alarm.cancel();
    this.#all.clear();
  }
}
