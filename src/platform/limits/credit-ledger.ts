// The permits that time has earned, kept as credit in milliseconds of the monotonic clock. Pure.
import type { BucketSettings } from '../../model/settings.js';

/** Credit of one bucket: a permit costs one interval, time earns it back, up to `burst` intervals. */
export class CreditLedger {
  #burst: number;
  #intervalMs: number;
  #creditMs: number;
  #atMs: number;

  /** A full one. All times are of one monotonic clock, in milliseconds. */
  constructor(settings: BucketSettings, nowMs: number) {
    this.#burst = settings.burst;
    this.#intervalMs = settings.intervalMs;
    this.#creditMs = settings.burst * settings.intervalMs;
    this.#atMs = nowMs;
  }

  /** Whole permits. */
  permits(nowMs: number): number {
    return Math.floor(this.#earned(nowMs) / this.#intervalMs);
  }

  /** Whether nothing is missing. */
  isFull(nowMs: number): boolean {
    return this.#earned(nowMs) >= this.#burst * this.#intervalMs;
  }

  /** Whole milliseconds until one permit more than `others` is there. */
  nextInMs(nowMs: number, others = 0): number {
    return Math.ceil(Math.max(0, (others + 1) * this.#intervalMs - this.#earned(nowMs)));
  }

  /** Spends a permit if there is one. */
  spend(nowMs: number): boolean {
    if (this.#earned(nowMs) < this.#intervalMs) return false;
    this.#creditMs -= this.#intervalMs;
    return true;
  }

  /** Goes on under other settings: permits and the earned part of one stay as they are, up to the new burst. */
  resize(settings: BucketSettings, nowMs: number): void {
    const permits = Math.min(settings.burst, this.#earned(nowMs) / this.#intervalMs);
    this.#burst = settings.burst;
    this.#intervalMs = settings.intervalMs;
    this.#creditMs = permits * settings.intervalMs;
  }

  #earned(nowMs: number): number {
    const elapsedMs = Math.max(0, nowMs - this.#atMs);
    this.#atMs += elapsedMs;
    this.#creditMs = Math.min(this.#burst * this.#intervalMs, this.#creditMs + elapsedMs);
    return this.#creditMs;
  }
}
