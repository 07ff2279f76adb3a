// Everything started is stopped: a Scope collects the undoing of what was acquired and does it in reverse.

/** Undoes one acquisition. */
export type Undo = () => void | Promise<void>;

/** Collects undos while parts are opened. Closing runs them newest first, once, whatever any of them throws. */
export class Scope {
  readonly #undos: Undo[] = [];
  #closing: Promise<void> | undefined;

  /** Whether close() was called. */
  get isClosed(): boolean {
    return this.#closing !== undefined;
  }

  /** Remembers an undo. On a closed scope it is run at once, so that a late acquisition cannot leak. */
  defer(undo: Undo): void {
    if (this.#closing === undefined) this.#undos.push(undo);
    else this.#closing = this.#closing.then(undo, undo);
  }

  /**
   * Runs all undos in reverse order. Idempotent: every caller gets the same promise.
   *
   * @throws AggregateError when undos failed, after all of them were run
   */
  close(): Promise<void> {
    this.#closing ??= this.#run();
    return this.#closing;
  }

  async #run(): Promise<void> {
    const failures: unknown[] = [];
    for (let undo = this.#undos.pop(); undo !== undefined; undo = this.#undos.pop()) {
      try {
        await undo();
      } catch (failure) {
        failures.push(failure);
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, 'some parts could not be stopped cleanly');
  }
}
