// Waiting on conditions: every change is reported here, and all waiters look again.

/** One look at the world: something, or not yet. */
export type Look<T> = () => T | undefined | false;

/** Wakes the waiters. */
export class Changes {
  readonly #waiting = new Set<() => void>();
  /** Aborts when all waiting is to end. */
  readonly signal: AbortSignal;
  readonly #onAbort = (): void => this.happened();
  #failure: Error | undefined;

  /** @param signal ends all waiting with its reason */
  constructor(signal: AbortSignal) {
    this.signal = signal;
    signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  /** Nobody waits any more. */
  close(): void {
    this.signal.removeEventListener('abort', this.#onAbort);
  }

  /** Something happened. */
  happened(): void {
    for (const look of [...this.#waiting]) look();
  }

  /** Nothing that anybody waits for can happen any more. */
  fail(failure: Error): void {
    this.#failure ??= failure;
    this.happened();
  }

  /** Looks now and after each change, until there is something or the time is over (undefined). */
  until<T>(look: Look<T>, withinMs: number): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined = undefined;
      const settle = (end: () => void): void => {
        clearTimeout(timer);
        this.#waiting.delete(again);
        end();
      };
      const again = (): void => {
        if (this.signal.aborted) return settle(() => reject(this.signal.reason as Error));
        const found = look();
        if (found !== undefined && found !== false) return settle(() => resolve(found));
        const failure = this.#failure;
        if (failure !== undefined) settle(() => reject(failure));
      };
      this.#waiting.add(again);
      const isOver = (): void => {
        again();
        settle(() => resolve(undefined));
      };
      // News that arrived in time may still wait in a pipe when a busy machine lets the timer ring.
      timer = setTimeout(() => (timer = setTimeout(isOver, LAST_LOOK_MS)), withinMs);
      again();
    });
  }

  /** Lets time pass; ends early only with an error. */
  async pass(ms: number): Promise<void> {
    const untilMs = performance.now() + ms;
    const timer = setTimeout(() => this.happened(), ms + 1);
    try {
      await this.until(() => performance.now() >= untilMs, ms + 1);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** How long a wait goes on beyond its end, for news on their way. */
const LAST_LOOK_MS = 50;
