// A kubelet that let a question time out is not waited for again by each caller: it is asked on and on, by one question at a time
// for which nobody waits, and callers have the answer without it until it answers. Pure.
import type { Clock } from '../kernel/clock.js';

/** Callers do not wait longer than this for a kubelet that may answer, or has hung before: some give up after a second. */
export const PATIENCE_MS = 500;
/** Nobody waits for so long after a question that timed out. */
const SILENT_MS = 10_000;

/** Whether a kubelet answers one kind of question in time. */
export class Silence {
  readonly #clock: Pick<Clock, 'mono'>;
  /** Until when nobody waits; undefined: it answered the last question, or refused it at once. */
  #until: number | undefined;

  constructor(clock: Pick<Clock, 'mono'>) {
    this.#clock = clock;
  }

  /** How long a caller waits, in milliseconds. @param usualMs for a kubelet that answers in time */
  waitMs(usualMs: number): number {
    if (this.#until === undefined) return usualMs;
    return this.#clock.mono() < this.#until ? 0 : Math.min(usualMs, PATIENCE_MS);
  }

  /** A question has ended. @param askedAt monotonic milliseconds @param isAnswered whether the kubelet answered */
  ended(askedAt: number, isAnswered: boolean): void {
    const now = this.#clock.mono();
    this.#until = !isAnswered && now - askedAt >= PATIENCE_MS ? now + SILENT_MS : undefined;
  }
}
