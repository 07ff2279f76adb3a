// Gives devices to owners: choose and mark in memory, ask the plugins, record on the disk, write the
// CDI file, tell the owner. Until the record is on the disk nobody was told, and a fault anywhere undoes the mark.
import { abortable } from '../kernel/clock.js';
import { Until } from '../kernel/until.js';
import type { AllocationRefusal } from '../model/allocation-reasons.js';
import { strangerUser } from '../model/ids.js';
import type { Lease, LeaseListener, LeaseOwner, LeaseSource } from '../model/lease.js';
import { Asking } from './asking.js';
import { DecisionTime } from './decision-time.js';
import { LeaseIds } from './ids.js';
import { Keeper } from './keeper.js';
import type { Entry, Ledger } from './ledger.js';
import { Marking } from './marking.js';
import { ownerOf } from './owner.js';
import type { AllocationCaller, AllocationPorts, LeaseNews } from './ports.js';
import { Pending } from './pending.js';
import { readRequest, type AllocationRequest, type Asked } from './request.js';
import {
  GIVEN_UP,
  hasEnded,
  notWritten,
  refused,
  released,
  type LeaseRef,
  type Released,
  type Result,
} from './result.js';
import { differenceOf, isSame, type Keyed } from './same-request.js';
import { Shares } from './shares.js';
import { STOPPING } from './shut.js';
import { Waiting } from './waiting.js';

/** The allocator. */
export class Allocations implements LeaseSource {
  /** Leases after they were given. */
  readonly keeper: Keeper;
  readonly #ports: AllocationPorts;
  readonly #ledger: Ledger;
  readonly #waiting = new Waiting();
  readonly #pending = new Pending<Result<Lease>, Keyed>(isSame);
  readonly #asking: Asking;
  /** The share of each user in leases, waiting requests, calls and time. */
  readonly shares: Shares;
  readonly #marking: Marking;
  readonly #time: DecisionTime;
  readonly #halt = new AbortController();
  readonly #untilHalt = new Until(this.#halt.signal);

  /** @param ledger the leases in memory: none before the keeper restored some */
  constructor(ports: AllocationPorts, ledger: Ledger) {
    this.#ports = ports;
    this.#ledger = ledger;
    this.shares = new Shares(ports, this.#ledger);
    const again = (): void => this.#waiting.look(ports.offers, undefined, false, (waiter) => waiter.isPutOff());
    this.#time = new DecisionTime(ports, again);
    this.#asking = new Asking(ports, this.#ledger, this.#time, (resource) => this.#serve(new Set([resource])));
    const ids = new LeaseIds(() => ports.clock.wall(), ports.random);
    this.#marking = new Marking(ports, {
      ...{ ledger: this.#ledger, waiting: this.#waiting, shares: this.shares, ids },
      ...{ time: this.#time, lineTime: new DecisionTime(ports, again) },
      isAvoided: this.#asking.isAvoided,
    });
    this.keeper = new Keeper(ports, this.#ledger, ids, (resources) => this.#serve(resources, true));
  }

  /** Requests that wait for devices. */
  get waiting(): number {
    return this.#waiting.size;
  }

  leases(): readonly Lease[] {
    return [...this.#ledger.all()].map(({ lease }) => lease).filter(({ state }) => state !== 'asking');
  }

  onChange(listener: LeaseListener): void {
    this.keeper.telling.onChange(listener);
  }

  /** The CDI name of a lease, or why it has none; undefined where CDI is off. */
  cdiOf(id: string): Entry['cdi'] {
    return this.#ledger.get(id)?.cdi;
  }

  /** Leases and marks that have devices of a resource, by device, as they are at any time; `allocated` counts them. */
  allocatedOf(resource: string): ReadonlyMap<string, Pick<Entry, 'lease'>> {
    return this.#ledger.takenOf(resource);
  }

  /**
   * Lists, plugins or rules changed: waiting requests may be served now.
   *
   * @param resources the changed ones; undefined: any may have changed
   */
  changed(resources?: ReadonlySet<string>): void {
    this.#serve(resources);
    this.keeper.lookAtDevices(resources);
  }

  /** Serves waiting requests, once the lists that they wait for are at hand. */
  #serve(changed?: ReadonlySet<string>, hasLeaseEnded = false): void {
    this.#waiting.look(this.#ports.offers, changed, hasLeaseEnded);
  }

  /**
   * Gives devices. The request of a caller that asks too often is not decoded.
   *
   * @param signal aborts when the caller goes away: it leaves the line, and anything not recorded yet is undone
   */
  async allocate(raw: Asked, caller: AllocationCaller, signal: AbortSignal): Promise<Result<Lease>> {
    const startedAt = this.#ports.clock.mono();
    const result = await this.#allocate(raw, caller, signal);
    const { metrics, clock, offers } = this.#ports;
    const resources = result.ok
      ? result.value.granted.map(({ resource }) => resource)
      : [result.refusal.resource ?? ''];
    for (const resource of resources) {
      // Where nobody offers it any more, its plugin may have been the caller's, or nobody's: names are chosen by whoever asks, too.
      const uid = (offers.of(resource) ?? { stranger: caller.uid }).stranger ?? 0;
      metrics.allocation(resource, result.ok ? 'given' : result.refusal.code, strangerUser(uid, this.#ports));
    }
    if (result.ok) metrics.allocateSeconds('all', (clock.mono() - startedAt) / 1000);
    return result;
  }

  /** The leases that a caller may see, oldest first. */
  list(caller: AllocationCaller, resource: string): readonly Lease[] {
    return this.leases().filter(
      ({ uid, granted }) =>
        (caller.uid === 0 || caller.uid === uid) &&
        (resource === '' || granted.some((one) => one.resource === resource)),
    );
  }

  /** A lease as it is now; undefined once it has ended. */
  leaseOf(id: string): Lease | undefined {
    return this.#ledger.get(id)?.lease;
  }

  /** Gives devices back; never too often where there are any. */
  async release(ref: LeaseRef, caller: AllocationCaller): Promise<Result<Released>> {
    const found = this.#ledger.find(ref, caller.uid);
    if (!found.ok) {
      const otherwise = this.shares.tooOften(caller.uid, 'leases') ?? found;
      if (otherwise.refusal.code !== 'LEASE_UNKNOWN') return otherwise;
      return { ok: true, value: { wasHeld: false, warnings: [] } };
    }
    return { ok: true, value: released(await this.keeper.end(found.value, 'by-request')) };
  }

  /** Begins a time to live anew, and confirms the lease. */
  async renew(ref: LeaseRef, caller: AllocationCaller): Promise<Result<Lease>> {
    const found = this.shares.tooOften(caller.uid, 'leases') ?? this.#ledger.find(ref, caller.uid);
    if (!found.ok) return found;
    return this.#confirmed(found.value);
  }

  /** Follows a lease until `signal` aborts. Its owner is looked at then: the end of a stream alone ends no lease. */
  attach(ref: LeaseRef, caller: AllocationCaller, tell: (news: LeaseNews) => void, signal: AbortSignal): Result<Lease> {
    const found = this.shares.tooOften(caller.uid, 'leases') ?? this.#ledger.find(ref, caller.uid);
    if (!found.ok) return found;
    const entry = found.value;
    const { followers } = this.keeper;
    const message = followers.crowded(entry.lease) ?? this.shares.ofFollowing(caller.uid, followers.uids());
    if (message !== undefined) return { ok: false, refusal: { code: 'FLOOD_ALLOCATE', message, retryAfterMs: 1000 } };
    this.keeper.follow(entry, caller.uid, tell, signal);
    void this.#confirmed(entry);
    return { ok: true, value: entry.lease };
  }

  /** Refuses all callers from now on; a lease that is being recorded may still end well. */
  stop(): void {
    this.#waiting.close(STOPPING);
    this.keeper.stop();
  }

  /** Gives up the calls that are under way. */
  close(): void {
    this.#halt.abort(new Error('the broker is stopping'));
  }

  async #allocate(raw: Asked, caller: AllocationCaller, signal: AbortSignal): Promise<Result<Lease>> {
    const tooOften = this.shares.tooOften(caller.uid, 'devices');
    if (tooOften !== undefined) return tooOften;
    const request = readRequest(typeof raw === 'function' ? raw() : raw);
    if ('code' in request) return { ok: false, refusal: request };
    const shut = this.keeper.shut();
    if (shut !== undefined) return { ok: false, refusal: shut };
    const owner = ownerOf(request, caller, this.#ports.owners);
    if ('code' in owner) return { ok: false, refusal: owner };
    const { key } = request;
    if (key !== undefined) return this.#ofKey({ ...request, key }, owner, caller, signal);
    return this.#untilHalt.or(signal, (both) => this.#give(request, owner, caller, both));
  }

  /** The lease of a key: other callers with the same key meanwhile get the same answer. */
  async #ofKey(
    request: AllocationRequest & { readonly key: string },
    owner: LeaseOwner,
    caller: AllocationCaller,
    signal: AbortSignal,
  ): Promise<Result<Lease>> {
    const { key, wants, ttlMs } = request;
    const name = `${String(caller.uid)} ${key}`;
    for (let over = this.#pending.givenUp(name); over !== undefined; over = this.#pending.givenUp(name)) {
      await abortable(over, signal);
    }
    const asked = { wants, owner, ttlMs };
    const twin = this.#pending.join(name, asked, signal);
    if (twin === 'other') return refused('KEY_IN_USE', `key ${key} is being used for another request at this moment`);
    if (twin === 'crowded') return refused('QUEUE_FULL', `as many callers as may wait for key ${key} already`);
    if (twin !== undefined) return twin;
    const known = this.#ledger.ofKey(caller.uid, key);
    const lives = known !== undefined && !this.keeper.hasEnded(known);
    if (known !== undefined && !lives) void this.keeper.end(known, 'owner-ended');
    return this.#pending.run(name, asked, signal, (until) =>
      this.#untilHalt.or(until, (both) =>
        lives ? this.#again(known, request, owner, both) : this.#give(request, owner, caller, both),
      ),
    );
  }

  /** The same key again: the same lease, if the request is the same. */
  async #again(
    entry: Entry,
    { wants, key, ttlMs }: AllocationRequest,
    owner: LeaseOwner,
    signal: AbortSignal,
  ): Promise<Result<Lease>> {
    const { lease } = entry;
    const differs = differenceOf(lease, { wants, ttlMs }, owner);
    if (differs !== undefined)
      return refused('KEY_IN_USE', `key ${key ?? ''} names lease ${lease.id}, which was ${differs}`);
    if (lease.answer.isLost !== true) return this.#confirmed(entry);
    // Its plugins are asked once more for the same devices.
    const answer = await this.#asking.ask(lease, signal);
    if ('code' in answer) return { ok: false, refusal: answer };
    if (!this.#ledger.has(entry)) return hasEnded(lease);
    const full = this.shares.ofBytes(entry, answer);
    if (full !== undefined) {
      this.#ledger.weigh(entry, undefined);
      return { ok: false, refusal: full };
    }
    entry.lease = { ...entry.lease, answer };
    return this.#confirmed(entry, true);
  }

  async #confirmed(entry: Entry, isAnswered = false): Promise<Result<Lease>> {
    switch (await this.keeper.confirm(entry, isAnswered)) {
      case 'confirmed':
        return { ok: true, value: entry.lease };
      case 'ended':
        return hasEnded(entry.lease);
      case 'not-written':
        return notWritten(entry.lease);
    }
  }

  async #give(
    request: AllocationRequest,
    owner: LeaseOwner,
    caller: AllocationCaller,
    both: AbortSignal,
  ): Promise<Result<Lease>> {
    const { clock, metrics } = this.#ports;
    const startedAt = clock.mono();
    const marked = await this.#marking.mark(request, owner, caller, both);
    if (!marked.ok) return marked;
    const entry = marked.value;
    metrics.allocateSeconds('wait', (clock.mono() - startedAt) / 1000);
    const askedAt = clock.mono();
    const until = askedAt + this.#ports.timeouts.preferredMs;
    for (const [index, want] of request.wants.entries()) {
      const before = entry.lease.granted[index];
      if (before === undefined) continue;
      const better = await this.#asking.preferred(want, before, caller.uid, until, both);
      if (better !== before && this.#ledger.exchange(entry, better)) this.#serve(new Set([want.resource]));
    }
    const answer = await this.#asking.ask(entry.lease, both);
    if ('code' in answer) return this.#undo(entry, answer);
    metrics.allocateSeconds('plugin', (clock.mono() - askedAt) / 1000);
    if (both.aborted) return this.#undo(entry, GIVEN_UP);
    const full = this.#time.spend(caller.uid, () => this.shares.ofBytes(entry, answer));
    if (full !== undefined) return this.#undo(entry, full);
    entry.lease = { ...entry.lease, answer };
    const recordedAt = clock.mono();
    const problem = await this.keeper.record(entry);
    if (problem !== undefined) return this.#undo(entry, problem);
    metrics.allocateSeconds('disk', (clock.mono() - recordedAt) / 1000);
    // Its caller may have left, and without a key nobody else can ask for it.
    const isNobodys = (): boolean => request.key === undefined && both.aborted && !this.#halt.signal.aborted;
    if (!isNobodys()) return { ok: true, value: entry.lease };
    await this.keeper.end(entry, 'by-request');
    return { ok: false, refusal: GIVEN_UP };
  }

  #undo(entry: Entry, refusal: AllocationRefusal): Result<Lease> {
    this.keeper.endings.drop(entry);
    return { ok: false, refusal };
  }
}
