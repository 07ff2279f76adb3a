// An answer of a kubelet that is kept: asked for seldom, and good until there is a newer one.
import { withDeadline, type Clock } from '../kernel/clock.js';
import { PATIENCE_MS, Silence } from './silence.js';

/** The kubelet is asked for one answer at most this often. */
export const EVERY_MS = 1000;
/** It answers within this, or its last answer stays. */
export const LIMIT_MS = 5000;

/** One answer, asked for at most once in a while, by one call at a time, and kept when asking fails, or takes long. */
export class Kept<T> {
  readonly #clock: Clock;
  readonly #ask: () => Promise<T | undefined>;
  readonly #told: (failure: unknown) => void;
  readonly #mayAsk: (ageMs: number) => boolean;
  #value: T | undefined;
  #askedAt = -Infinity;
  /** When that was asked for which is known now. */
  #knownAt = -Infinity;
  #asking: Promise<void> | undefined;
  readonly #silence: Silence;
  /** Whether the newest try failed. */
  isFailing = false;

  /** @param ask undefined: the kubelet was not asked after all */
  constructor(
    clock: Clock,
    ask: () => Promise<T | undefined>,
    told: (failure: unknown) => void,
    mayAsk: (ageMs: number) => boolean,
  ) {
    this.#clock = clock;
    this.#ask = ask;
    this.#told = told;
    this.#mayAsk = mayAsk;
    this.#silence = new Silence(clock);
  }

  /** Whether an answer is under way: after `get` it has hung for longer than that waited. */
  get isAsking(): boolean {
    return this.#asking !== undefined;
  }

  /** How old the answer is, in milliseconds; Infinity while there is none. */
  get ageMs(): number {
    return this.#clock.mono() - this.#knownAt;
  }

  /**
   * Undefined while the kubelet never answered.
   *
   * @param patienceMs how long a newer answer may take to be waited for, unless the last question timed out
   */
  async get(patienceMs = this.#value === undefined ? LIMIT_MS : PATIENCE_MS): Promise<T | undefined> {
    const isDue = this.#clock.mono() - this.#askedAt >= EVERY_MS && this.#mayAsk(this.ageMs);
    if (this.#asking === undefined && isDue) {
      this.#askedAt = this.#clock.mono();
      this.#asking = this.#renew().finally(() => (this.#asking = undefined));
    }
    const asking = this.#asking;
    // From when it was asked for: nobody waits for one that takes too long already.
    const waitMs = this.#askedAt + this.#silence.waitMs(patienceMs) - this.#clock.mono();
    if (asking !== undefined && waitMs > 0) {
      const late = (): Error => new Error('no answer in time');
      await withDeadline(this.#clock, waitMs, late, () => asking).catch(() => undefined);
    }
    return this.#value;
  }

  async #renew(): Promise<void> {
    const askedAt = this.#askedAt;
    try {
      const value = await this.#ask();
      if (value === undefined) return;
      this.#value = value;
      this.#knownAt = askedAt;
      this.isFailing = false;
      this.#silence.ended(askedAt, true);
      this.#told(undefined);
    } catch (failure) {
      this.isFailing = true;
      this.#silence.ended(askedAt, false);
      this.#told(failure);
    }
  }
}
