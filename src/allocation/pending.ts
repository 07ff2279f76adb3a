// Requests with a key that are under way: another call with the same key meanwhile gets the same result.
import { abortable } from '../kernel/clock.js';

interface Twin<T> {
  readonly asked: string;
  readonly result: Promise<T>;
  readonly gone: AbortController;
  callers: number;
}

/** Work by key; it is given up when nobody waits for it any more. */
export class Pending<T> {
  readonly #twins = new Map<string, Twin<T>>();

  /** Joins the request under way: `other` when it is for something else, undefined when there is none. */
  join(key: string, asked: string, signal: AbortSignal): Promise<T> | 'other' | undefined {
    const twin = this.#twins.get(key);
    if (twin === undefined) return undefined;
    return twin.asked === asked ? this.#follow(twin, signal) : 'other';
  }

  /** Begins work that others may join. */
  run(key: string, asked: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const gone = new AbortController();
    const result = work(gone.signal).finally(() => this.#twins.delete(key));
    const twin = { asked, result, gone, callers: 0 };
    this.#twins.set(key, twin);
    return this.#follow(twin, signal);
  }

  #follow(twin: Twin<T>, signal: AbortSignal): Promise<T> {
    twin.callers += 1;
    const left = (): void => {
      twin.callers -= 1;
      if (twin.callers === 0) twin.gone.abort(new Error('nobody waits for it any more'));
    };
    if (signal.aborted) left();
    else signal.addEventListener('abort', left, { once: true });
    const done = (): void => signal.removeEventListener('abort', left);
    twin.result.then(done, done);
    return abortable(twin.result, signal);
  }
}
