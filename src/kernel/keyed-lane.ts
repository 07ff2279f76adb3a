// One task at a time per key, in the order they came; keys without tasks take no memory.

/** Serialises work by key. The number of waiting tasks is bounded by the callers, each of which has a deadline. */
export class KeyedLane {
  readonly #tails = new Map<string, Promise<unknown>>();

  /** How many keys have work running or waiting. */
  get size(): number {
    return this.#tails.size;
  }

  /**
   * Runs `task` after all earlier tasks of `key` have settled; passes its result or rejection on.
   *
   * @param signal aborted before the task's turn has come: it is not run at all
   * @throws the signal's reason then
   */
  run<T>(key: string, task: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const before = this.#tails.get(key);
    const onTurn = async (): Promise<T> => {
      signal?.throwIfAborted();
      return task();
    };
    const result = before === undefined ? onTurn() : before.then(onTurn, onTurn);
    const tail = result.then(
      () => undefined,
      () => undefined,
    );
    this.#tails.set(key, tail);
    void tail.then(() => {
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    });
    return result;
  }
}
