// Requests with a key that are under way: another call with the same key meanwhile gets the same result.
import { abortable } from '../kernel/clock.js';

/**
 * Callers of one request at most: all are answered in one turn of the loop, each with the whole lease, and callers that join
 * take no slot among the waiting requests, so nothing else bounds them.
 */
const MOST_CALLERS = 16;

interface Twin<T, A> {
  readonly asked: A;
  readonly result: Promise<T>;
  readonly gone: AbortController;
  callers: number;
}

/** Work by key; it is given up when nobody waits for it any more. */
export class Pending<T, A> {
  readonly #isSame: (one: A, other: A) => boolean;
  readonly #twins = new Map<string, Twin<T, A>>();

  /** @param isSame whether two requests can have one answer; only the first of a key is kept */
  constructor(isSame: (one: A, other: A) => boolean) {
    this.#isSame = isSame;
  }

  /**
   * Joins the request under way: `other` when it asks for something else, `crowded` when MOST_CALLERS wait for it, undefined when
   * there is none.
   */
  join(key: string, asked: A, signal: AbortSignal): Promise<T> | 'other' | 'crowded' | undefined {
    const twin = this.#twins.get(key);
    if (twin === undefined) return undefined;
    if (!this.#isSame(twin.asked, asked)) return 'other';
    return twin.callers < MOST_CALLERS ? this.#follow(twin, signal) : 'crowded';
  }

  /** Resolves when work without callers is undone, so that nobody joins it meanwhile; undefined: there is no such work. */
  givenUp(key: string): Promise<unknown> | undefined {
    const twin = this.#twins.get(key);
    return twin?.gone.signal.aborted === true ? twin.result.catch(() => undefined) : undefined;
  }

  /** Begins work that others may join. */
  run(key: string, asked: A, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const gone = new AbortController();
    const result = work(gone.signal).finally(() => this.#twins.delete(key));
    const twin = { asked, result, gone, callers: 0 };
    this.#twins.set(key, twin);
    return this.#follow(twin, signal);
  }

  #follow(twin: Twin<T, A>, signal: AbortSignal): Promise<T> {
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
