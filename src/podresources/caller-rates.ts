// How often one caller may ask. The kubelet has one bucket for everybody, so there one client that asks all the time
// starves the others; here each process has its own.
import { Pace } from '../kernel/pace.js';
import { processKey, type Caller } from '../model/ids.js';

/** Calls at once, and milliseconds until there may be one more, as the kubelet's. */
const BURST = 10;
const INTERVAL_MS = 10;
/** Callers that are remembered; each that does not ask is forgotten as soon as its bucket is full again. */
const MAX_CALLERS = 1024;

/** One bucket for each caller. */
export class CallerRates {
  readonly #now: () => number;
  readonly #buckets = new Map<string, Pace>();

  /** @param now milliseconds on a scale that only grows */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Whether a call may be answered; takes a permit if so. */
  take(caller: Caller | undefined): boolean {
    const key = caller === undefined ? '' : processKey(caller);
    const now = this.#now();
    const known = this.#buckets.get(key);
    const bucket = known ?? new Pace(BURST * INTERVAL_MS);
    // The order of the map is that of the last calls, so that the caller that has been silent longest is looked at first.
    this.#buckets.delete(key);
    this.#buckets.set(key, bucket);
    if (known === undefined) this.#forget(now);
    if (bucket.waitMs(INTERVAL_MS, now) > 0) return false;
    bucket.book(INTERVAL_MS, now);
    return true;
  }

  #forget(now: number): void {
    for (const [key, bucket] of this.#buckets) {
      if (!bucket.isFull(now) && this.#buckets.size <= MAX_CALLERS) return;
      if (this.#buckets.size > 1) this.#buckets.delete(key);
      else return;
    }
  }
}
