// How long ordinary users may have the broker decide about their requests. Requests and lists can be made so that each decision
// takes long while all others wait, so the time itself is counted, independent of the work.
import { Pace } from '../kernel/pace.js';
import { strangerUser } from '../model/ids.js';
import type { AllocationPorts } from './ports.js';
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

type Needs = Pick<AllocationPorts, 'clock' | 'ownUid' | 'userOf'>;

/** Counts by user. Root and the broker's own user may have all of the time. */
export class DecisionTime {
  readonly #ports: Needs;
  readonly #again: () => void;
  /** By user, the one that decided last at the end. */
  readonly #paces = new Map<number, Pace>();
  readonly #alarmed = new Set<number>();

  /** @param again called when a user whose decision was put off may have one */
  constructor(ports: Needs, again: () => void = () => undefined) {
    this.#ports = ports;
    this.#again = again;
  }

  /** Decides and counts, or puts off: a refusal that is not final, with a time. */
  decide<T>(uid: number, decide: () => Decision<T>): Decision<T> {
    const waitMs = this.waitMs(uid);
    return waitMs > 0 ? this.#putOff(this.#ports.userOf(uid), waitMs) : this.spend(uid, decide);
  }

  /** Milliseconds until the user of a uid may have its next decision; 0: it may now. */
  waitMs(uid: number): number {
    const user = strangerUser(uid, this.#ports);
    return user === undefined ? 0 : (this.#paces.get(user)?.waitMs(0, this.#ports.clock.mono()) ?? 0);
  }

  /** Counts the time that `work` takes, which is done now for a uid and may fail. Returns what it returns. */
  spend<T>(uid: number, work: () => T): T {
    const user = strangerUser(uid, this.#ports);
    if (user === undefined) return work();
    const { clock } = this.#ports;
    const startedAt = clock.mono();
    try {
      return work();
    } finally {
      const at = clock.mono();
      if (at > startedAt) this.#book(user, at - startedAt, at);
    }
  }

  /** Counts work that is done later and by parts that know no uid, at its price in milliseconds. */
  charge(uid: number, ms: number): void {
    const user = strangerUser(uid, this.#ports);
    if (user !== undefined) this.#book(user, ms, this.#ports.clock.mono());
  }

  #putOff(user: number, waitMs: number): Decision<never> {
    if (!this.#alarmed.has(user)) {
      this.#alarmed.add(user);
      this.#ports.clock.alarm(Math.max(AGAIN_MS, Math.ceil(waitMs)), () => {
        this.#alarmed.delete(user);
        this.#again();
      });
    }
    const message = `deciding about what uid ${String(user)} asks for took long; ask again in ${(waitMs / 1000).toFixed(2)} s`;
    return { ok: false, refusal: { code: 'FLOOD_ALLOCATE', message, retryAfterMs: waitMs }, isFinal: false };
  }

  #book(user: number, ms: number, now: number): void {
    const pace = this.#paces.get(user) ?? new Pace(BURST_MS * COST);
    pace.book(Math.min(LONGEST_MS, ms) * COST, now);
    this.#paces.delete(user);
    this.#paces.set(user, pace);
    const [oldest = user] = this.#paces.keys();
    if (this.#paces.size > MOST_USERS) this.#paces.delete(oldest);
  }
}
