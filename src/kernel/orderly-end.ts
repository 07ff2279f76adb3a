// Ends parts one after the other: one that does not end in order, or in time, does not keep the others from it.
import { asError, withDeadline, type Clock } from './clock.js';

/** Which parts of a program did not end as they should. */
export class OrderlyEnd {
  readonly #clock: Clock;
  readonly #left: string[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Ends one part. Never rejects. @param limitMs milliseconds after which it is left as it is */
  async of(what: string, work: () => unknown, limitMs: number): Promise<void> {
    const late = (): Error => new Error(`it did not end within ${String(Math.round(limitMs))} ms`);
    try {
      await withDeadline(this.#clock, limitMs, late, () => Promise.resolve(work()));
    } catch (failure) {
      this.#left.push(`${what} (${asError(failure).message})`);
    }
  }

  /** The parts that did not end, and why; undefined when all have. */
  get left(): string | undefined {
    return this.#left.length === 0 ? undefined : this.#left.join('; ');
  }
}
