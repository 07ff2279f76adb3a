// The end of something that lasts, for works that come and go. AbortSignal.any() leaves something behind in the lasting
// signal each time, and a listener each makes Node warn of a leak: here one listener stands for all, and nothing stays.

/** Joins a lasting signal with brief ones. */
export class Until {
  readonly #lasting: AbortSignal;
  readonly #followers = new Set<() => void>();

  constructor(lasting: AbortSignal) {
    this.#lasting = lasting;
    lasting.addEventListener('abort', () => [...this.#followers].forEach((tell) => tell()), { once: true });
  }

  /**
   * Runs `work` with a signal that aborts together with either of the two, and with its reason.
   *
   * @returns the result of `work`; its rejection is passed on
   */
  async or<T>(brief: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const controller = new AbortController();
    const onAbort = (): void => controller.abort((brief.aborted ? brief : this.#lasting).reason);
    if (brief.aborted || this.#lasting.aborted) onAbort();
    this.#followers.add(onAbort);
    brief.addEventListener('abort', onAbort, { once: true });
    try {
      return await work(controller.signal);
    } finally {
      this.#followers.delete(onAbort);
      brief.removeEventListener('abort', onAbort);
    }
  }
}
