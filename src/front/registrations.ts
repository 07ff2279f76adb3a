// Registers that are under way, of all resources. A kubelet that starts calls our second sockets by itself, and is as busy with
// them as with those that Register names: the first list counts, so the second sockets wait until all have one.
import type { Clock } from '../kernel/clock.js';

/**
 * A second socket waits at most this long: each of the two ways to the kubelet is there in case the other one fails. A kubelet on
 * a slow machine calls a hundred resources back within this time, and pods that it admits at its start are lost long before.
 */
const LIMIT_MS = 1000;

/** Counts them. */
export class Registrations {
  readonly #clock: Clock;
  readonly #waiting = new Set<() => void>();
  readonly #underWay = new Set<() => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** One begins. Returns the function to call when the kubelet follows the list, or will not; calling it again does nothing. */
  begin(): () => void {
    const end = (): void => {
      if (this.#underWay.delete(end) && this.#underWay.size === 0) for (const go of [...this.#waiting]) go();
    };
    this.#underWay.add(end);
    return end;
  }

  /** Calls back once: at once when none is under way, else when all are over, or a second later. */
  after(go: () => void): void {
    if (this.#underWay.size === 0) {
      go();
      return;
    }
    const wake = (): void => {
      alarm.cancel();
      if (this.#waiting.delete(wake)) go();
    };
    const alarm = this.#clock.alarm(LIMIT_MS, wake);
    this.#waiting.add(wake);
  }
}
