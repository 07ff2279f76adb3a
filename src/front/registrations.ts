// Registers that are under way, of all resources. Each is many steps in the broker and in the kubelet, and those that begin together end
// together, so an ordinary user, which may have hundreds of resources, has a few under way at a time. And a kubelet that starts calls our
// second sockets by itself, and is as busy with them as with those that Register names: the first list counts, so the second sockets
// wait until all have one.
import type { Clock } from '../kernel/clock.js';
import { besideTrusted, FairRoom, TRUSTED } from '../kernel/fair-room.js';

/**
 * A second socket waits at most this long: each of the two ways to the kubelet is there in case the other one fails. A kubelet on
 * a slow machine calls a hundred resources back within this time, and pods that it admits at its start are lost long before.
 */
const LIMIT_MS = 1000;
/** Under way at a time: of root all, of each ordinary user four, and eight of all of these. */
const TURNS = besideTrusted({ trusted: Infinity, other: 4, others: 8 });

/** Counts them, and gives turns. */
export class Registrations {
  readonly #clock: Clock;
  readonly #turns = new FairRoom(TURNS);
  readonly #waiting = new Set<() => void>();
  /** Those that wait for their turn, too. */
  readonly #underWay = new Set<object>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * One begins, when its turn has come.
   *
   * @param user in whose share it is; undefined: root or the broker's user, which wait for nobody
   * @returns the function to call when the kubelet follows the list, or will not; calling it again does nothing
   * @throws the signal's reason when it aborts before
   */
  async begin(user: number | undefined, signal: AbortSignal): Promise<() => void> {
    const one = {};
    this.#underWay.add(one);
    const isOver = (): void => {
      if (this.#underWay.delete(one) && this.#underWay.size === 0) for (const go of [...this.#waiting]) go();
    };
    try {
      const leave = await this.#turns.take(user ?? TRUSTED, signal);
      return () => {
        isOver();
        leave();
      };
    } catch (failure) {
      isOver();
      throw failure;
    }
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
