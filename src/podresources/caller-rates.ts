// How often one caller may ask. The kubelet has one bucket for everybody, so there one client that asks all the time
// starves the others; here each process has its own, or each user.
import { Pace } from '../kernel/pace.js';
import { processKey, type Caller } from '../model/ids.js';

/** How often. */
export interface Rate {
  /** Calls at once. */
  readonly burst: number;
  /** Milliseconds until there may be one more. */
  readonly intervalMs: number;
}

/** The kubelet's. */
export const KUBELET_RATE: Rate = { burst: 10, intervalMs: 10 };
/** Callers that are remembered; each that does not ask is forgotten as soon as its bucket is full again. */
const MAX_CALLERS = 1024;

/** One bucket for each caller. */
export class CallerRates {
  readonly #now: () => number;
  readonly #rate: Rate;
  readonly #keyOf: (caller: Caller) => string;
  readonly #buckets = new Map<string, Pace>();

  /**
   * @param now milliseconds on a scale that only grows
   * @param keyOf callers with the same key share a bucket
   */
  constructor(now: () => number, rate = KUBELET_RATE, keyOf: (caller: Caller) => string = processKey) {
    this.#now = now;
    this.#rate = rate;
    this.#keyOf = keyOf;
  }

  /** Whether a call may be answered; takes a permit if so. */
  take(caller: Caller | undefined): boolean {
    const key = caller === undefined ? '' : this.#keyOf(caller);
    const { burst, intervalMs } = this.#rate;
    const now = this.#now();
    const known = this.#buckets.get(key);
    const bucket = known ?? new Pace(burst * intervalMs);
    // The order of the map is that of the last calls, so that the caller with the oldest one is looked at first.
    this.#buckets.delete(key);
    this.#buckets.set(key, bucket);
    if (known === undefined) this.#forget(now);
    if (bucket.waitMs(intervalMs, now) > 0) return false;
    bucket.book(intervalMs, now);
    return true;
  }

  #forget(now: number): void {
    for (const [key, bucket] of this.#buckets) {
      if (this.#buckets.size === 1 || (!bucket.isFull(now) && this.#buckets.size <= MAX_CALLERS)) return;
      this.#buckets.delete(key);
    }
  }
}
