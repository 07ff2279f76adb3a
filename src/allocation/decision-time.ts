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
/**
 * Of these so much without a rest: twenty requests that come together would else be decided about in one go of a fifth of a second, and
 * a registration or a lease goes through the event loop dozens of times meanwhile.
 */
const AT_ONCE_MS = 5;
/** No decision takes longer: the process was stopped meanwhile (see MOST_REST_MS in kernel/pace), and nobody owes that. */
const LONGEST_MS = 2000;
/** A user that was put off is tried again after this long: each try goes through all waiting requests, at nobody's charge. */
const AGAIN_MS = 100;
/** Users that are remembered; beyond them the user that decided longest ago is forgotten. */
const MOST_USERS = 1024;

type Needs = Pick<AllocationPorts, 'clock' | 'ownUid' | 'userOf'>;

/** The time of a user: all of it, and what comes without a rest. */
interface Account {
  readonly share: Pace;
  readonly atOnce: Pace;
}

/** Counts by user. Root and the broker's own user may have all of the time. */
export class DecisionTime {
  readonly #ports: Needs;
  readonly #again: () => void;
  /** By user, the one that decided last at the end. */
  readonly #accounts = new Map<number, Account>();
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
    return this.#accountOf(uid)?.share.waitMs(0, this.#ports.clock.mono()) ?? 0;
  }

  /** Milliseconds of rest before the next decision that a user has time for; 0: it may come at once, or has to be put off. */
  restMs(uid: number): number {
    const account = this.#accountOf(uid);
    const now = this.#ports.clock.mono();
    return account === undefined || account.share.waitMs(0, now) > 0 ? 0 : account.atOnce.waitMs(0, now);
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

  #accountOf(uid: number): Account | undefined {
    const user = strangerUser(uid, this.#ports);
    return user === undefined ? undefined : this.#accounts.get(user);
  }

  #book(user: number, ms: number, now: number): void {
    const { share, atOnce } = this.#accounts.get(user) ?? {
      share: new Pace(BURST_MS * COST),
      atOnce: new Pace(AT_ONCE_MS * COST),
    };
    const cost = Math.min(LONGEST_MS, ms) * COST;
    for (const pace of [share, atOnce]) pace.book(cost, now);
    this.#accounts.delete(user);
    this.#accounts.set(user, { share, atOnce });
    const [oldest = user] = this.#accounts.keys();
    if (this.#accounts.size > MOST_USERS) this.#accounts.delete(oldest);
  }
}
