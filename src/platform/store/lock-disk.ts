// The disk below the lock. A disk that hangs is found out soon: the broker then serves from memory, without a lock.
import { withDeadline, type Clock } from '../../kernel/clock.js';

/** How long the disk may take for all steps of one turn: the lock is looked at, and taken where nobody has it. */
const DISK_MS = 1500;

/** The time of the disk for one request of the lock. */
export class LockDisk {
  readonly #clock: Clock;
  #tookMs = 0;
  #hanging: Promise<void> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Milliseconds that the steps took since the last renewal. */
  get tookMs(): number {
    return this.#tookMs;
  }

  /** Resolves when the step that was given up has ended; undefined where there is none. */
  get hanging(): Promise<void> | undefined {
    return this.#hanging;
  }

  /** A new turn: the disk answered in the last one, and the steps have their whole time again. */
  renew(): void {
    this.#tookMs = 0;
  }

  /**
   * Does one step, in what the steps before it left of their time.
   *
   * @param undo is given the result of a step that was given up and ended later
   * @throws Error of the step, or that the disk does not answer
   */
  async step<T>(work: () => Promise<T>, undo: (late: T) => unknown = () => undefined): Promise<T> {
    const from = this.#clock.mono();
    const late = new Error('the disk does not answer');
    const running = work();
    try {
      return await withDeadline(
        this.#clock,
        DISK_MS - this.#tookMs,
        () => late,
        () => running,
      );
    } catch (failure) {
      if (failure === late) this.#hanging = running.then(undo).then(noThing, noThing);
      throw failure;
    } finally {
      this.#tookMs += this.#clock.mono() - from;
    }
  }
}

function noThing(): void {
  // Its end is all that counts.
}
