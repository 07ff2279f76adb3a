// The rate of some work: each piece is booked with its cost, and waits until that is paid. It is the leaky bucket in the form of
// virtual scheduling (ITU-T I.371): one number, no timer.

/**
 * The longest time that anybody rests, or waits for a debt to be paid, because of the time that work took. A process is not told
 * that it was stopped (SIGSTOP, the freezer of control groups), and the monotonic clock runs on: the work of that moment seems to
 * have taken all of that time, and nobody is to wait for a multiple of it.
 */
const MOST_REST_MS = 5000;

/** Milliseconds of rest after work that took so long, where a rest is so many times as long. */
export function restMs(tookMs: number, times: number): number {
  return Math.min(MOST_REST_MS, tookMs * times);
}

/** One account: its budget is earned with time, so that each millisecond pays for a cost of one. Pure: the time comes in. */
export class Pace {
  readonly #burstMs: number;
  readonly #aheadMs: number;
  /** When the budget is full again, monotonic milliseconds. */
  #fullAt = -Infinity;

  /**
   * @param burstMs the cost that may be spent at once after a pause, in milliseconds
   * @param aheadMs the longest debt, in milliseconds: a booking beyond it costs nothing
   */
  constructor(burstMs: number, aheadMs = Infinity) {
    this.#burstMs = burstMs;
    this.#aheadMs = aheadMs;
  }

  /** Milliseconds that work of this cost would have to wait if it were booked now. */
  waitMs(costMs: number, now: number): number {
    return Math.max(0, this.#after(costMs, now) - now - this.#burstMs);
  }

  /** Books work of this cost. @returns milliseconds until it is paid */
  book(costMs: number, now: number): number {
    const waitMs = this.waitMs(costMs, now);
    this.#fullAt = Math.min(this.#after(costMs, now), now + this.#burstMs + this.#aheadMs);
    return waitMs;
  }

  /** Books work of this cost where nothing has to be waited for. @returns whether it may be done now */
  take(costMs: number, now: number): boolean {
    return this.waitMs(costMs, now) === 0 && this.book(costMs, now) === 0;
  }

  /** Takes back the booking of work that is not done. */
  giveBack(costMs: number): void {
    this.#fullAt -= costMs;
  }

  /** Nothing of the budget is spent: such an account can be forgotten and opened again without anybody gaining by it. */
  isFull(now: number): boolean {
    return this.#fullAt <= now;
  }

  #after(costMs: number, now: number): number {
    return Math.max(this.#fullAt, now) + costMs;
  }
}

/** How often a piece of work is done. */
export interface TurnFigures {
  readonly intervalMs: number;
  /** Pieces at once after a pause. */
  readonly burst: number;
  /** Turns that are given ahead at most; undefined: as many as are asked for. */
  readonly ahead?: number;
}

/** The turns of one account: its pieces of work have the same cost. */
export class Turns {
  readonly #intervalMs: number;
  readonly #pace: Pace;
  /** The longest wait for a turn. */
  readonly aheadMs: number;

  constructor({ intervalMs, burst, ahead = Infinity }: TurnFigures) {
    this.#intervalMs = intervalMs;
    this.aheadMs = ahead * intervalMs;
    this.#pace = new Pace(burst * intervalMs, this.aheadMs);
  }

  /** Milliseconds to the next turn. */
  waitMs(now: number): number {
    return this.#pace.waitMs(this.#intervalMs, now);
  }

  /** Takes so many turns. @returns milliseconds until they come */
  book(count: number, now: number): number {
    return this.#pace.book(count * this.#intervalMs, now);
  }

  /** Takes the next turn, if it is there now. @returns whether it is */
  take(now: number): boolean {
    return this.#pace.take(this.#intervalMs, now);
  }

  /** Gives a turn back that was booked. */
  giveBack(): void {
    this.#pace.giveBack(this.#intervalMs);
  }

  isFull(now: number): boolean {
    return this.#pace.isFull(now);
  }
}
