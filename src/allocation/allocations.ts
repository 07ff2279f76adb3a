// Gives devices to owners: choose and mark in memory, ask the plugins, record on the disk, write the
// CDI file, tell the owner. Until the record is on the disk nobody was told, and a fault anywhere undoes the mark.
import { abortable } from '../kernel/clock.js';
import { Until } from '../kernel/until.js';
import type { AllocationRefusal } from '../model/allocation-reasons.js';
import type { Granted, Lease, LeaseListener, LeaseOwner, LeaseSource } from '../model/lease.js';
import { Asking } from './asking.js';
import { available } from './availability.js';
import { DecisionTime } from './decision-time.js';
import { LeaseIds } from './ids.js';
import { Keeper } from './keeper.js';
import { Ledger, type Entry } from './ledger.js';
import { markOf } from './mark.js';
import { ownerOf } from './owner.js';
import type { AllocationCaller, AllocationPorts, AskedAbout, LeaseNews } from './ports.js';
import { Pending } from './pending.js';
import { readRequest, type AllocationRequest, type Asked } from './request.js';
import { refused, type LeaseRef, type Refused, type Result } from './result.js';
import { boundTo, differenceOf } from './same-request.js';
import { Shares } from './shares.js';
import { Waiting, type Attempt } from './waiting.js';

const GIVEN_UP = { code: 'ALLOCATOR_STOPPING', message: 'the caller went away, or the broker is stopping' } as const;

/** The allocator. */
export class Allocations implements LeaseSource {
  /** Leases after they were given. */
  readonly keeper: Keeper;
  readonly #ports: AllocationPorts;
  readonly #ledger = new Ledger();
  readonly #waiting = new Waiting();
  readonly #pending = new Pending<Result<Lease>>();
  readonly #asking: Asking;
  readonly #shares: Shares;
  readonly #time: DecisionTime;
  readonly #ids: LeaseIds;
  readonly #halt = new AbortController();
  readonly #untilHalt = new Until(this.#halt.signal);

  constructor(ports: AllocationPorts) {
    this.#ports = ports;
    this.#shares = new Shares(ports, this.#ledger);
    this.#time = new DecisionTime(ports.clock, () => this.#serve());
    this.#asking = new Asking(ports, this.#ledger, this.#time, (resource) => this.#serve(new Set([resource])));
    this.#ids = new LeaseIds(() => ports.clock.wall(), ports.random);
    this.keeper = new Keeper(ports, this.#ledger, this.#ids, (resources) => this.#serve(resources, true));
  }

  /** Requests that wait for devices. */
  get waiting(): number {
    return this.#waiting.size;
  }

  leases(): readonly Lease[] {
    return [...this.#ledger.all()].map(({ lease }) => lease).filter(({ state }) => state !== 'asking');
  }

  onChange(listener: LeaseListener): void {
    this.keeper.onChange(listener);
  }

  /** The CDI name of a lease, or why it has none; undefined where CDI is off. */
  cdiOf(id: string): Entry['cdi'] {
    return this.keeper.cdiOf(id);
  }

  /** Leases and marks that have devices of a resource; `allocated` counts them. */
  allocatedOf(resource: string): ReadonlyMap<string, Lease> {
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
    this.#waiting.look((names) => this.#ports.prepare(names), changed, hasLeaseEnded);
  }

  /**
   * Gives devices. The request of a caller that asks too often is not decoded.
   *
   * @param signal aborts when the caller goes away: it leaves the line, and anything not recorded yet is undone
   */
  async allocate(raw: Asked, caller: AllocationCaller, signal: AbortSignal): Promise<Result<Lease>> {
    const startedAt = this.#ports.clock.mono();
    const result = await this.#allocate(raw, caller, signal);
    const { metrics, clock } = this.#ports;
    const resources = result.ok ? result.value.granted.map(({ resource }) => resource) : [''];
    for (const resource of resources) metrics.allocation(resource, result.ok ? 'given' : result.refusal.code);
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

  /** Gives devices back; never too often where there are any. Whether there was such a lease. */
  async release(ref: LeaseRef, caller: AllocationCaller): Promise<Result<boolean>> {
    const found = this.#ledger.find(ref, caller.uid);
    if (!found.ok) {
      const otherwise = this.tooOften(caller, 'leases') ?? found;
      return otherwise.refusal.code === 'LEASE_UNKNOWN' ? { ok: true, value: false } : otherwise;
    }
    await this.keeper.end(found.value, 'by-request');
    return { ok: true, value: true };
  }

  /** Begins a time to live anew, and confirms the lease. */
  async renew(ref: LeaseRef, caller: AllocationCaller): Promise<Result<Lease>> {
    const found = this.tooOften(caller, 'leases') ?? this.#ledger.find(ref, caller.uid);
    if (!found.ok) return found;
    return this.#confirmed(found.value);
  }

  /** Follows a lease until `signal` aborts. Its owner is looked at then: the end of a stream alone ends no lease. */
  attach(ref: LeaseRef, caller: AllocationCaller, tell: (news: LeaseNews) => void, signal: AbortSignal): Result<Lease> {
    const found = this.tooOften(caller, 'leases') ?? this.#ledger.find(ref, caller.uid);
    if (!found.ok) return found;
    const entry = found.value;
    const { followers } = this.keeper;
    const message = followers.crowded(entry.lease) ?? this.#shares.ofFollowing(caller.uid, followers.uids());
    if (message !== undefined) return { ok: false, refusal: { code: 'FLOOD_ALLOCATE', message, retryAfterMs: 1000 } };
    this.keeper.follow(entry, caller.uid, tell, signal);
    void this.#confirmed(entry);
    return { ok: true, value: entry.lease };
  }

  /**
   * An operator says that no device of unknown ownership is in use. Returns the state that this ended, undefined when nothing was
   * wrong.
   */
  reset(): Promise<'stale' | 'unknown' | 'unread' | undefined> {
    return this.keeper.reset();
  }

  /** Refuses all callers from now on; a lease that is being recorded may still end well. */
  stop(): void {
    const refusal = {
      code: 'ALLOCATOR_STOPPING',
      message: 'the broker is stopping; its successor knows the leases',
    } as const;
    this.#waiting.close(refusal);
    this.keeper.stop();
  }

  /** Gives up the calls that are under way. */
  close(): void {
    this.#halt.abort(new Error('the broker is stopping'));
  }

  async #allocate(raw: Asked, caller: AllocationCaller, signal: AbortSignal): Promise<Result<Lease>> {
    const tooOften = this.tooOften(caller, 'devices');
    if (tooOften !== undefined) return tooOften;
    const request = readRequest(typeof raw === 'function' ? raw() : raw);
    if ('code' in request) return { ok: false, refusal: request };
    const shut = this.keeper.shut();
    if (shut !== undefined) return { ok: false, refusal: shut };
    const owner = ownerOf(request, caller, this.#ports.owners);
    if ('code' in owner) return { ok: false, refusal: owner };
    const { key } = request;
    const give = (until: AbortSignal): Promise<Result<Lease>> =>
      this.#untilHalt.or(until, (both) => this.#give(request, owner, caller, both));
    if (key === undefined) return give(signal);
    const name = `${String(caller.uid)} ${key}`;
    const asked = JSON.stringify([request.wants, boundTo(owner), request.ttlMs]);
    const twin = this.#pending.join(name, asked, signal);
    if (twin === 'other') return refused('KEY_IN_USE', `key ${key} is being used for another request at this moment`);
    if (twin !== undefined) return twin;
    const known = this.#ledger.ofKey(caller.uid, key);
    if (known !== undefined && !this.keeper.hasEnded(known)) return this.#again(known, request, owner);
    if (known !== undefined) void this.keeper.end(known, 'owner-ended');
    return this.#pending.run(name, asked, signal, give);
  }

  /** The same key again: the same lease, if the request is the same. */
  async #again(entry: Entry, { wants, key, ttlMs }: AllocationRequest, owner: LeaseOwner): Promise<Result<Lease>> {
    const { lease } = entry;
    const differs = differenceOf(lease, { wants, ttlMs }, owner);
    if (differs !== undefined)
      return refused('KEY_IN_USE', `key ${key ?? ''} names lease ${lease.id}, which was ${differs}`);
    if (lease.answer.isLost !== true) return this.#confirmed(entry);
    // Its plugins are asked once more for the same devices.
    const answer = await this.#asking.ask(lease, this.#halt.signal);
    if ('code' in answer) return { ok: false, refusal: answer };
    if (this.#ledger.get(lease.id) !== entry) return hasEnded(entry);
    const full = this.#shares.ofBytes({ ...entry.lease, answer });
    entry.bytes = undefined;
    if (full !== undefined) return { ok: false, refusal: full };
    entry.lease = { ...entry.lease, answer };
    return this.#confirmed(entry, true);
  }

  async #confirmed(entry: Entry, isAnswered = false): Promise<Result<Lease>> {
    return (await this.keeper.confirm(entry, isAnswered)) ? { ok: true, value: entry.lease } : hasEnded(entry);
  }

  async #give(
    request: AllocationRequest,
    owner: LeaseOwner,
    caller: AllocationCaller,
    both: AbortSignal,
  ): Promise<Result<Lease>> {
    const { clock, metrics } = this.#ports;
    const startedAt = clock.mono();
    const marked = await this.#mark(request, owner, caller, both);
    if (!marked.ok) return marked;
    const entry = marked.value;
    metrics.allocateSeconds('wait', (clock.mono() - startedAt) / 1000);
    const askedAt = clock.mono();
    for (const [index, want] of request.wants.entries()) {
      const before = entry.lease.granted[index];
      if (before === undefined) continue;
      const better = await this.#asking.preferred(want, before, this.#shares.payerOf(caller.uid), both);
      entry.lease = { ...entry.lease, granted: entry.lease.granted.with(index, better) };
      if (better !== before) this.#serve(new Set([want.resource]));
    }
    const answer = await this.#asking.ask(entry.lease, both);
    if ('code' in answer) return this.#undo(entry, answer);
    metrics.allocateSeconds('plugin', (clock.mono() - askedAt) / 1000);
    if (both.aborted) return this.#undo(entry, GIVEN_UP);
    const full = this.#shares.ofBytes({ ...entry.lease, state: 'active', answer });
    if (full !== undefined) return this.#undo(entry, full);
    entry.lease = { ...entry.lease, answer };
    const recordedAt = clock.mono();
    const problem = await this.keeper.record(entry);
    if (problem !== undefined) return this.#undo(entry, problem);
    metrics.allocateSeconds('disk', (clock.mono() - recordedAt) / 1000);
    return { ok: true, value: entry.lease };
  }

  /** Chooses and marks in one step, at once or when it is this request's turn. */
  async #mark(
    request: AllocationRequest,
    owner: LeaseOwner,
    caller: AllocationCaller,
    signal: AbortSignal,
  ): Promise<Result<Entry>> {
    const resources = request.wants.map(({ resource }) => resource);
    const payer = this.#shares.payerOf(caller.uid);
    const wide = this.#shares.ofLists(caller.uid, resources);
    if (wide !== undefined) return { ok: false, refusal: wide };
    const decide = (): Attempt<readonly Granted[]> => {
      const full = this.#shares.ofLeases(caller.uid);
      if (full !== undefined) return { ok: false, refusal: full, isFinal: false };
      return available(request.wants, caller, this.#ledger, this.#ports, this.#asking.isAvoided);
    };
    const attempt = (): Attempt<Entry> => {
      const found = payer === undefined ? decide() : this.#time.decide(payer, decide);
      if (!found.ok) return found;
      const of = { owner, uid: caller.uid, createdAt: this.#ports.clock.wall(), bootId: this.#ports.bootId };
      const entry = markOf(request, found.value, { ...of, id: this.#ids.next() });
      this.#ledger.add(entry);
      return { ok: true, value: entry };
    };
    const ready = this.#ports.prepare(resources);
    if (ready !== undefined) {
      await abortable(ready, signal).catch(() => undefined);
      if (signal.aborted) return { ok: false, refusal: GIVEN_UP };
    }
    return this.#waiting.inTurn(
      { resources, uid: this.#ports.userOf(caller.uid), isStranger: payer !== undefined },
      attempt,
      { clock: this.#ports.clock, waitMs: request.waitMs, signal },
      () => this.#shares.ofWaiting(caller.uid, this.#waiting.uids()),
    );
  }

  /** Counts a call, and says why it comes too soon; never of root or the own user about leases. */
  tooOften({ uid }: AllocationCaller, about: AskedAbout): Refused | undefined {
    return this.#shares.tooOften(uid, about);
  }

  #undo(entry: Entry, refusal: AllocationRefusal): Result<Lease> {
    this.keeper.undo(entry);
    return { ok: false, refusal };
  }
}

function hasEnded({ lease }: Entry): Refused {
  return refused('LEASE_UNKNOWN', `lease ${lease.id} has ended meanwhile`);
}
