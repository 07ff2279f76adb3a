// Chooses the devices of a request and marks them in one step, in memory, at once or when it is its turn.
import { abortable, sleep } from '../kernel/clock.js';
import { KeyedLane } from '../kernel/keyed-lane.js';
import { strangerUser } from '../model/ids.js';
import type { Granted, LeaseOwner } from '../model/lease.js';
import { available, type Situation } from './availability.js';
import type { DecisionTime } from './decision-time.js';
import type { LeaseIds } from './ids.js';
import { entryOf, NO_ANSWER, type Entry, type Ledger } from './ledger.js';
import type { AllocationCaller, AllocationPorts } from './ports.js';
import type { AllocationRequest } from './request.js';
import { GIVEN_UP, refused, type Result } from './result.js';
import type { Shares } from './shares.js';
import type { Decision, Waiting } from './waiting.js';

type Needs = Situation['ports'] & Pick<AllocationPorts, 'clock' | 'bootId' | 'ownUid'>;

/** The parts of Marking. */
interface Parts {
  readonly ledger: Ledger;
  readonly waiting: Waiting;
  readonly shares: Shares;
  /** For decisions about requests that come, and about those that stand in line: each has its own share of the time. */
  readonly time: DecisionTime;
  readonly lineTime: DecisionTime;
  readonly ids: LeaseIds;
  readonly isAvoided: Situation['isAvoided'];
}

/** Makes marks. */
export class Marking {
  readonly #ports: Needs;
  readonly #parts: Parts;
  /** Requests of ordinary users that are decided about after a rest, by user. */
  readonly #resting = new KeyedLane();
  /** Those in it. */
  readonly #inLane = new Set<{ readonly user: number }>();

  constructor(ports: Needs, parts: Parts) {
    this.#ports = ports;
    this.#parts = parts;
  }

  /** Marks the devices of a request, or says why it gets none. @param signal aborts when nobody waits for it any more */
  async mark(
    request: AllocationRequest,
    owner: LeaseOwner,
    caller: AllocationCaller,
    signal: AbortSignal,
  ): Promise<Result<Entry>> {
    const { shares, waiting } = this.#parts;
    const { clock, userOf } = this.#ports;
    const { uid } = caller;
    const resources = request.wants.map(({ resource }) => resource);
    const wide = shares.ofLists(uid, resources);
    if (wide !== undefined) return { ok: false, refusal: wide };
    const full = (): string | undefined => shares.ofWaiting(uid, [...waiting.uids(), ...this.#usersInLane()]);
    const rests = this.#restMs(uid, resources) > 0 || this.#usersInLane().includes(userOf(uid));
    const crowded = rests ? full() : undefined;
    if (crowded !== undefined) return refused('QUEUE_FULL', crowded);
    const ready = rests ? this.#inTurn(uid, resources, signal) : this.#ports.offers.prepare(resources);
    if (ready !== undefined) {
      await abortable(ready, signal).catch(() => undefined);
      if (signal.aborted) return { ok: false, refusal: GIVEN_UP };
    }
    return waiting.inTurn(
      { resources, uid: userOf(uid), isStranger: strangerUser(uid, this.#ports) !== undefined },
      (isWaiting) => this.#markNow(request, owner, caller, isWaiting),
      { clock, waitMs: request.waitMs, signal },
      full,
    );
  }

  /** In the line of its user: nothing else bounds how many stand there, because a call to us needs no deadline. */
  async #inTurn(uid: number, resources: readonly string[], signal: AbortSignal): Promise<void> {
    const place = { user: this.#ports.userOf(uid) };
    this.#inLane.add(place);
    try {
      await this.#resting.run(String(place.user), () => this.#afterRest(uid, resources, signal), signal);
    } finally {
      this.#inLane.delete(place);
    }
  }

  /** Before long lists, and after decisions that took long. */
  #restMs(uid: number, resources: readonly string[]): number {
    return Math.max(this.#parts.shares.restMs(uid, resources), this.#parts.time.restMs(uid));
  }

  #usersInLane(): readonly number[] {
    return Array.from(this.#inLane, ({ user }) => user);
  }

  /**
   * Requests that come together, or wait for the same list, would be decided about in one turn of the loop, and everybody would wait
   * for all of them. Lists last: others of the same user take their place as soon as they are decoded.
   */
  async #afterRest(uid: number, resources: readonly string[], signal: AbortSignal): Promise<void> {
    await sleep(this.#ports.clock, this.#restMs(uid, resources), signal);
    const ready = this.#ports.offers.prepare(resources);
    if (ready !== undefined) await abortable(ready, signal);
  }

  #markNow(
    request: AllocationRequest,
    owner: LeaseOwner,
    caller: AllocationCaller,
    isWaiting: boolean,
  ): Decision<Entry> {
    const { ledger, ids } = this.#parts;
    const time = isWaiting ? this.#parts.lineTime : this.#parts.time;
    const { clock, bootId } = this.#ports;
    const found = time.decide(caller.uid, () => this.#choose(request, caller));
    if (!found.ok) return found;
    const { wants, key, ttlMs } = request;
    const entry = entryOf({
      ...{ id: ids.next(), owner, uid: caller.uid, createdAt: clock.wall(), bootId },
      ...{ key, wants, granted: found.value, answer: NO_ANSWER, ttlMs, expiresAt: undefined },
      ...{ state: 'asking', reason: undefined },
    });
    ledger.add(entry);
    return { ok: true, value: entry };
  }

  #choose({ wants }: AllocationRequest, caller: AllocationCaller): Decision<readonly Granted[]> {
    const { ledger, shares, isAvoided } = this.#parts;
    const full = shares.ofLeases(caller.uid);
    if (full !== undefined) return { ok: false, refusal: full, isFinal: false };
    return available(wants, { caller, ledger, ports: this.#ports, isAvoided });
  }
}
