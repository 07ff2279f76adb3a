// How long ordinary users may have the broker decide about their requests. Requests and lists can be made so that each decision
// takes long while all others wait: what counts is the time, whatever it was spent on.
import type { Clock } from '../kernel/clock.js';
import type { Attempt } from './waiting.js';

/** Milliseconds that one user may owe before its next decision is put off: many ordinary ones, or a few long ones. */
const MOST_OWED_MS = 200;
/** The part of the time that pays back. */
const PAID_BACK = 0.1;
/** No decision takes longer: the process was stopped meanwhile (see MOST_REST_MS in kernel/pace), and nobody owes that. */
const LONGEST_MS = 2000;
/** A user that was put off is tried again after this long: each try goes through all waiting requests, at nobody's charge. */
const AGAIN_MS = 100;
/** Users that are remembered; beyond them the user that decided longest ago is forgotten. */
const MOST_USERS = 1024;

/** Counts by user. */
export class DecisionTime {
  readonly #clock: Clock;
  readonly #again: () => void;
  readonly #owed = new Map<number, { ms: number; at: number }>();
  readonly #alarmed = new Set<number>();

  /** @param again called when a user whose decision was put off may have one */
  constructor(clock: Clock, again: () => void) {
    this.#clock = clock;
    this.#again = again;
  }

  /** Decides and counts, or puts off: a refusal that is not final, with a time. */
  decide<T>(uid: number, decide: () => Attempt<T>): Attempt<T> {
    const waitMs = this.waitMs(uid);
    return waitMs > 0 ? this.#putOff(uid, waitMs) : this.spend(uid, decide);
  }

  /** Milliseconds until a user may have its next decision; 0: it may now. */
  waitMs(uid: number): number {
    return Math.max(0, (this.#owedBy(uid) - MOST_OWED_MS) / PAID_BACK);
  }

  /** Counts the time of `work`, which is done now, unless it is nobody's. Returns its result. */
  spend<T>(uid: number | undefined, work: () => T): T {
    if (uid === undefined) return work();
    const startedAt = this.#clock.mono();
    const done = work();
    const at = this.#clock.mono();
    if (at > startedAt) this.#owe(uid, at - startedAt, at);
    return done;
  }

  #putOff(uid: number, waitMs: number): Attempt<never> {
    if (!this.#alarmed.has(uid)) {
      this.#alarmed.add(uid);
      this.#clock.alarm(Math.max(AGAIN_MS, Math.ceil(waitMs)), () => {
        this.#alarmed.delete(uid);
        this.#again();
      });
    }
    const message = `deciding about what uid ${String(uid)} asks for took long; ask again in ${(waitMs / 1000).toFixed(2)} s`;
    return { ok: false, refusal: { code: 'FLOOD_ALLOCATE', message, retryAfterMs: waitMs }, isFinal: false };
  }

  #owe(uid: number, ms: number, at: number): void {
    const owed = this.#owedBy(uid) + Math.min(LONGEST_MS, ms);
    this.#owed.delete(uid);
    this.#owed.set(uid, { ms: owed, at });
    if (this.#owed.size <= MOST_USERS) return;
    for (const oldest of this.#owed.keys()) {
      this.#owed.delete(oldest);
      break;
    }
  }

  #owedBy(uid: number): number {
    const owed = this.#owed.get(uid);
    return owed === undefined ? 0 : Math.max(0, owed.ms - (this.#clock.mono() - owed.at) * PAID_BACK);
  }
}
