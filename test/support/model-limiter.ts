import type { Limiter, OpenLimiter, WaitingTurn } from '../../src/flood/limiter.js';
import type { Alarm, Clock } from '../../src/kernel/clock.js';
import type { BucketSettings } from '../../src/model/settings.js';

/** The plainest bucket there is: one number, the time at which it will be full again. Only for tests. */
class ModelLimiter implements Limiter {
  readonly #clock: Clock;
  #settings: BucketSettings;
  #fullAtMs: number;
  #isClosed = false;
  readonly #waiting = new Set<() => void>();
  #alarm: Alarm | undefined;

  constructor(clock: Clock, settings: BucketSettings) {
    this.#clock = clock;
    this.#settings = settings;
    this.#fullAtMs = clock.mono();
  }

  get settings(): BucketSettings {
    return this.#settings;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  tryTake(): boolean {
    if (this.#isClosed || this.nextInMs() > 0) return false;
    this.#spend();
    return true;
  }

  join(come: () => void): WaitingTurn | undefined {
    if (this.#isClosed) return undefined;
    const told = (): void => come();
    this.#waiting.add(told);
    this.#serveLater();
    return {
      leave: () => {
        this.#waiting.delete(told);
        this.#serveLater();
      },
    };
  }

  permits(): number {
    const { burst, intervalMs } = this.#settings;
    return this.#isClosed || this.#waiting.size > 0
      ? 0
      : Math.max(0, Math.floor(burst - this.#missingMs() / intervalMs));
  }

  isFull(): boolean {
    return this.#waiting.size === 0 && this.#missingMs() === 0;
  }

  nextInMs(): number {
    const { burst, intervalMs } = this.#settings;
    return Math.ceil(Math.max(0, this.#missingMs() + (this.#waiting.size - burst + 1) * intervalMs));
  }

  reload(settings: BucketSettings): void {
    const { burst, intervalMs } = this.#settings;
    const permitsMs = burst * intervalMs - this.#missingMs();
    const keptMs = (permitsMs / intervalMs) * settings.intervalMs;
    this.#settings = settings;
    this.#fullAtMs = this.#clock.mono() + Math.max(0, settings.burst * settings.intervalMs - keptMs);
    this.#serveLater();
  }

  close(): void {
    this.#isClosed = true;
    this.#waiting.clear();
    this.#serveLater();
  }

  #serveLater(): void {
    this.#alarm?.cancel();
    this.#alarm = undefined;
    const [next] = this.#waiting;
    if (next === undefined) return;
    const { intervalMs } = this.#settings;
    this.#alarm = this.#clock.alarm(Math.max(0, this.nextInMs() - this.#waiting.size * intervalMs), () => {
      this.#waiting.delete(next);
      this.#spend();
      next();
      this.#serveLater();
    });
  }

  #spend(): void {
    this.#fullAtMs = Math.max(this.#fullAtMs, this.#clock.mono()) + this.#settings.intervalMs;
  }

  #missingMs(): number {
    return Math.max(0, this.#fullAtMs - this.#clock.mono());
  }
}

/** Opens model buckets on a clock. */
export function modelLimiters(clock: Clock): OpenLimiter {
  return (settings) => new ModelLimiter(clock, settings);
}

/** A limiter in whose line so many have a place, and no more. */
export function crowded(limiter: Limiter, places: number): Limiter {
  const join: Limiter['join'] = (come) => (limiter.waiting === places ? undefined : limiter.join(come));
  return new Proxy(limiter, {
    get: (target, name) => {
      const value: unknown = name === 'join' ? join : Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}
