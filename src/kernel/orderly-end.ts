// Ends parts one after the other: one that does not end in order does not keep the others from it.
import { asError } from './clock.js';

/** Which parts of a program did not end as they should. */
export class OrderlyEnd {
  readonly #left: string[] = [];

  /** Ends one part. Never rejects. */
  async of(what: string, work: () => unknown): Promise<void> {
    try {
      await work();
    } catch (failure) {
      this.#left.push(`${what} (${asError(failure).message})`);
    }
  }

  /** What did not end, and why; undefined when everything has. */
  get left(): string | undefined {
    return this.#left.length === 0 ? undefined : this.#left.join('; ');
  }
}
