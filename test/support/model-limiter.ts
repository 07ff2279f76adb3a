import type { Limiter, OpenLimiter } from '../../src/flood/limiter.js';
import type { Clock } from '../../src/kernel/clock.js';
import type { BucketSettings } from '../../src/model/settings.js';

/** The plainest bucket there is: one number, the time at which it will be full again. Only for tests. */
class ModelLimiter implements Limiter {
  readonly #clock: Clock;
  #settings: BucketSettings;
  #fullAtMs: number;
  #isClosed = false;

  constructor(clock: Clock, settings: BucketSettings) {
    this.#clock = clock;
    this.#settings = settings;
    this.#fullAtMs = clock.mono();
  }

  get settings(): BucketSettings {
    return this.#settings;
  }

  tryTake(): boolean {
    return this.reserve(0) !== undefined;
  }

  reserve(maxWaitMs: number): number | undefined {
    const waitMs = this.nextInMs();
    if (this.#isClosed || waitMs > maxWaitMs) return undefined;
    this.#fullAtMs = Math.max(this.#fullAtMs, this.#clock.mono()) + this.#settings.intervalMs;
    return waitMs;
  }

  permits(): number {
    const { burst, intervalMs } = this.#settings;
    return this.#isClosed ? 0 : Math.max(0, Math.floor(burst - this.#missingMs() / intervalMs));
  }

  isFull(): boolean {
    return this.#missingMs() === 0;
  }

  nextInMs(): number {
    const { burst, intervalMs } = this.#settings;
    return Math.ceil(Math.max(0, this.#missingMs() - (burst - 1) * intervalMs));
  }

  reload(settings: BucketSettings): void {
    const { burst, intervalMs } = this.#settings;
    const permitsMs = burst * intervalMs - this.#missingMs();
    const keptMs = permitsMs < 0 ? permitsMs : (permitsMs / intervalMs) * settings.intervalMs;
    this.#settings = settings;
    this.#fullAtMs = this.#clock.mono() + Math.max(0, settings.burst * settings.intervalMs - keptMs);
  }

  close(): void {
    this.#isClosed = true;
  }

  #missingMs(): number {
    return Math.max(0, this.#fullAtMs - this.#clock.mono());
  }
}

/** Opens model buckets on a clock. */
export function modelLimiters(clock: Clock): OpenLimiter {
  return (settings) => new ModelLimiter(clock, settings);
}
