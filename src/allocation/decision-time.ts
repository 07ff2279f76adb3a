// How long ordinary users may have the broker decide about their requests. Requests and lists can be made so that each decision
// takes long while all others wait, so the time itself is counted, independent of the work.
import type { Clock } from '../kernel/clock.js';
import { Pace } from '../kernel/pace.js';
import type { Decision } from './waiting.js';

/** Milliseconds of wall time that one millisecond of decisions costs: a user has a tenth of the time. */
const COST = 10;
/** Decisions that a user has at once after a pause, in milliseconds: many ordinary ones, or a few long ones. */
const BURST_MS = 200;
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
  /** By user, the one that decided last at the end. */
  readonly #paces = new Map<number, Pace>();
  readonly #alarmed = new Set<number>();

  /** @param again called when a user whose decision was put off may have one */
  constructor(clock: Clock, again: () => void) {
    this.#clock = clock;
    this.#again = again;
  }

  /** Decides and counts, or puts off: a refusal that is not final, with a time. */
  decide<T>(uid: number, decide: () => Decision<T>): Decision<T> {
    const waitMs = this.waitMs(uid);
    return waitMs > 0 ? this.#putOff(uid, waitMs) : this.spend(uid, decide);
  }

  /** Milliseconds until a user may have its next decision; 0: it may now. */
  waitMs(uid: number): number {
    return this.#paces.get(uid)?.waitMs(0, this.#clock.mono()) ?? 0;
  }

  /** Counts the time that `work` takes, which is done now and may fail, unless it is nobody's. Returns what it returns. */
  spend<T>(uid: number | undefined, work: () => T): T {
    if (uid === undefined) return work();
    const startedAt = this.#clock.mono();
    try {
      return work();
    } finally {
      const at = this.#clock.mono();
      if (at > startedAt) this.#book(uid, at - startedAt, at);
    }
  }

  #putOff(uid: number, waitMs: number): Decision<never> {
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

  #book(uid: number, ms: number, now: number): void {
    const pace = this.#paces.get(uid) ?? new Pace(BURST_MS * COST);
    pace.book(Math.min(LONGEST_MS, ms) * COST, now);
    this.#paces.delete(uid);
    this.#paces.set(uid, pace);
    if (this.#paces.size <= MOST_USERS) return;
    for (const oldest of this.#paces.keys()) {
      this.#paces.delete(oldest);
      break;
    }
  }
}
