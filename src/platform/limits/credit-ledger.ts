// What time has earned: the upper bound of a bucket, kept as credit in milliseconds of the monotonic clock. Pure.
import type { BucketSettings } from '../../model/settings.js';

/** Credit of one bucket: a permit costs one interval, time earns it back, up to `burst` intervals. */
export class CreditLedger {
  #burst: number;
  #intervalMs: number;
  /** Below zero while reserved turns lie ahead. */
  #creditMs: number;
  #atMs: number;

  /** A full one. All times are of one monotonic clock, in milliseconds. */
  constructor(settings: BucketSettings, nowMs: number) {
    this.#burst = settings.burst;
    this.#intervalMs = settings.intervalMs;
    this.#creditMs = settings.burst * settings.intervalMs;
    this.#atMs = nowMs;
  }

  /** Whole permits; negative while reserved turns lie ahead. */
  permits(nowMs: number): number {
    return Math.floor(this.#earned(nowMs) / this.#intervalMs);
  }

  /** Whether nothing is missing. */
  isFull(nowMs: number): boolean {
    return this.#earned(nowMs) >= this.#burst * this.#intervalMs;
  }

  /** Whole milliseconds until one permit is there. */
  nextInMs(nowMs: number): number {
    return Math.ceil(Math.max(0, this.#intervalMs - this.#earned(nowMs)));
  }

  /** Spends one permit, which may lie ahead: ask `nextInMs` before. */
  spend(nowMs: number): void {
    this.#earned(nowMs);
    this.#creditMs -= this.#intervalMs;
  }

  /**
   * Goes on under other settings: permits and the earned part of one stay what they are, up to the new burst. Turns that
   * are reserved stay where they are, and the new interval counts from the last of them.
   */
  resize(settings: BucketSettings, nowMs: number): void {
    const creditMs = this.#earned(nowMs);
    const permits = Math.min(settings.burst, creditMs / this.#intervalMs);
    this.#burst = settings.burst;
    this.#intervalMs = settings.intervalMs;
    this.#creditMs = creditMs < 0 ? creditMs : permits * settings.intervalMs;
  }

  #earned(nowMs: number): number {
    const elapsedMs = Math.max(0, nowMs - this.#atMs);
    this.#atMs += elapsedMs;
    this.#creditMs = Math.min(this.#burst * this.#intervalMs, this.#creditMs + elapsedMs);
    return this.#creditMs;
  }
}
