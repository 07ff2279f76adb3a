// How often one caller may ask. The kubelet has one bucket for everybody, so there one client that asks all the time
// starves the others; here each process has its own.
import { processKey, type Caller } from '../model/ids.js';

/** Permits at once, and per second, as the kubelet's. */
const BURST = 10;
const PER_SECOND = 100;
/** Callers that are remembered; each that does not ask is forgotten as soon as its bucket is full again. */
const MAX_CALLERS = 1024;

interface Bucket {
  permits: number;
  atMs: number;
}

/** One bucket for each caller. */
export class CallerRates {
  readonly #now: () => number;
  readonly #buckets = new Map<string, Bucket>();

  /** @param now milliseconds on a scale that only grows */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Whether a call may be answered; takes a permit if so. */
  take(caller: Caller | undefined): boolean {
    const key = caller === undefined ? '' : processKey(caller);
    const now = this.#now();
    const known = this.#buckets.get(key);
    const bucket = known ?? { permits: BURST, atMs: now };
    bucket.permits = Math.min(BURST, bucket.permits + ((now - bucket.atMs) / 1000) * PER_SECOND);
    bucket.atMs = now;
    // The order of the map is that of the last calls, so that the caller that has been silent longest is looked at first.
    this.#buckets.delete(key);
    this.#buckets.set(key, bucket);
    if (known === undefined) this.#forget(now);
    if (bucket.permits < 1) return false;
    bucket.permits -= 1;
    return true;
  }

  #forget(now: number): void {
    for (const [key, { permits, atMs }] of this.#buckets) {
      const isFull = permits + ((now - atMs) / 1000) * PER_SECOND >= BURST;
      if (!isFull && this.#buckets.size <= MAX_CALLERS) return;
      if (this.#buckets.size > 1) this.#buckets.delete(key);
      else return;
    }
  }
}
