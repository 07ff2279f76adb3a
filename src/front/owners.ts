// Which pods have which devices. Allocate carries no pod, so the kubelet is asked over PodResources: List now and then, begun
// never while an Allocate is under way, because List makes the kubelet forget which ids it is about to give (its set of ids
// in use is rebuilt from the pods that have theirs already), after which it gives the same device to two pods. Get has no
// such effect, and confirms before anything is refused.
import { asError, withDeadline, type Alarm } from '../kernel/clock.js';
import { Listeners } from '../kernel/listeners.js';
import { Until } from '../kernel/until.js';
import { DoubleUse, type DoubleUsePorts } from './double-use.js';
import { BusyUsers } from './busy-users.js';
import { GivenDevices } from './given-devices.js';
import { OvertakenLists } from './overtaken-lists.js';
import { ABSENT, ownersIn, type OwnersByResource, type Rest } from './owners-in.js';
import { podOwners, type DeviceOwner, type PodOwner } from './pods.js';
import type { FrontOwners, PodHolding, PodResources } from './ports.js';

/** The kubelet is asked at most this often. */
const EVERY_MS = 10_000;
const LIST_MS = 10_000;
/** Callers that need the first answer go on without it after so long: that kubelet hangs, or is busy starting. */
const FIRST_MS = 1000;
/** After the last Allocate nothing is asked for so long: that kubelet gives a pod its resources and containers one after another. */
const QUIET_MS = 1000;
/** Where it has given devices without such a pause for so long, it is asked between two calls when the last answer is that old. */
const OVERDUE_MS = 60_000;
/** And not right after one, when the kubelet may be about to give the next container its devices. */
const BREATH_MS = 200;
/** If there was not even that for so much longer, calls about devices of ordinary users' plugins make room for it: they decide how often they come. */
const BREATHLESS_MS = 10_000;
/** After so many answers all that pods of an earlier life have is known, as a device that two did not name is free. */
const ANSWERS = ABSENT;

/** Hears of the kubelet's answers: Front (front/front) and Consumers (allocation/consumers). */
export interface OwnersListener {
  /** The owners of a resource's devices changed. */
  ownersChanged?(resource: string): void;
  /** The kubelet has said often enough which devices pods have: none has one that is not known. Told once. */
  ownersKnown?(): void;
  /** The kubelet has healthy devices of these resources, and of no others. */
  kubeletHas?(resources: ReadonlySet<string>): void;
}

/** The ports of the owners. */
export interface OwnersPorts extends DoubleUsePorts {
  readonly podResources: PodResources;
  /** Resources that pods were offered before this life: FrontedBefore (platform/kubelet/fronted-before). */
  readonly before: { has(resource: string): boolean };
  /** The kubelet was asked for all pods: why that failed, or nothing. FrontNews (front/front-news) reports it, and the next one. */
  readonly asked: (problem: string | undefined) => void;
  /** Makes what each taking of an answer calls at its small steps: `slices` (platform/time/slices). */
  readonly rests: () => Rest;
  /** One answer names two pods for a device: one sentence, with their names. `FrontNews.usedTwice` (front/front-news). */
  readonly usedTwice: (resource: string, message: string) => void;
}

/** Owners of the devices of a kubelet's node. In memory only: the kubelet keeps the truth. */
export class Owners implements FrontOwners {
  readonly listeners = new Listeners<OwnersListener>();
  readonly #ports: OwnersPorts;
  readonly #halt = new AbortController();
  readonly #untilHalt = new Until(this.#halt.signal);
  #byResource: OwnersByResource = new Map();
  /** The ids that pods have or are given, of resources of which they were asked for since they changed. */
  readonly #ids = new Map<string, readonly string[]>();
  readonly #given: GivenDevices;
  readonly #doubleUse: DoubleUse;
  readonly #lists: OvertakenLists;
  readonly #first: Promise<void>;
  /** The kubelet was asked once. */
  #isAsked: () => void = () => undefined;
  /** The double uses of the last answer, each told once. */
  #twice: ReadonlyMap<string, string> = new Map();
  /** Answers to List, up to as many as tell all. */
  #answers = 0;
  /** Resources of which pods were given devices before that. */
  readonly #gave = new Set<string>();
  #calls = 0;
  /** When the last of them ended. */
  #calledAt = -Infinity;
  #isAsking = false;
  #alarm: Alarm | undefined;
  #askedAt = -Infinity;
  /** Since when there was no quiet second between two calls. */
  #busySince = -Infinity;
  /** Who has filled the time since then, and since the last answer. */
  readonly #busy = new BusyUsers();
  /** The kubelet is being asked at last. */
  #isCatchingUp = false;

  constructor(ports: OwnersPorts) {
    this.#ports = ports;
    this.#given = new GivenDevices(ports.clock);
    this.#doubleUse = new DoubleUse(ports, this.#untilHalt);
    this.#lists = new OvertakenLists(ports.clock);
    this.#first = new Promise((resolve) => (this.#isAsked = resolve));
  }

  /** Begins to ask. */
  open(): void {
    this.#askAgain();
  }

  /**
   * Resolves when the kubelet has named the owners for the first time, when there is no kubelet to ask, and after a second.
   * Before that no device is known to be a pod's.
   */
  asked(): Promise<void> {
    const late = (): Error => new Error('the kubelet was not asked in time');
    return withDeadline(this.#ports.clock, FIRST_MS, late, () => this.#first).catch(() => undefined);
  }

  /** Owners of a resource by device id. */
  of(resource: string): ReadonlyMap<string, DeviceOwner> {
    return this.#byResource.get(resource) ?? new Map();
  }

  /** Containers of pods that have devices; with a resource only those that have some of it. */
  pods(resource: string): readonly PodOwner[] {
    return podOwners(this.#byResource, resource);
  }

  /**
   * Whether the kubelet may be asked for all pods now: not while it gives devices.
   *
   * @param ageMs of the newest answer that the asker has; Infinity: it has none
   */
  mayList(ageMs: number): boolean {
    const now = this.#ports.clock.mono();
    return this.#calls === 0 && now >= this.#quietFrom(now - ageMs);
  }

  /** Somebody asks the kubelet for all pods. @returns aborts when an Allocate comes before that can have been sent */
  listing(): AbortSignal {
    return this.#lists.begun();
  }

  idsOf(resource: string): readonly string[] {
    const known = this.#ids.get(resource);
    if (known !== undefined) return known;
    const owned = this.of(resource);
    const ids = [...owned.keys()];
    for (const id of this.#given.of(resource)) if (!owned.has(id)) ids.push(id);
    if (ids.length > 0) this.#ids.set(resource, ids);
    return ids;
  }

  /** How many devices of a resource pods have, or are given now. */
  heldOf(resource: string): number {
    return this.idsOf(resource).length;
  }

  /** Pods may have devices of a resource that nobody has named: until when. Undefined: all that they have are known. */
  unsure(resource: string): string | undefined {
    if (this.#answers >= ANSWERS || !(this.#gave.has(resource) || this.#ports.before.has(resource))) return undefined;
    return 'that has said twice (PodResources) which pods have devices';
  }

  isFree(resource: string): boolean {
    return this.heldOf(resource) === 0 && this.unsure(resource) === undefined;
  }

  giving(resource: string, ids: readonly string[]): void {
    if (this.#answers < ANSWERS) this.#gave.add(resource);
    this.#given.add(resource, ids, this.#isAsking);
    this.#ids.delete(resource);
  }

  allocating(by: 1 | -1, user?: number, tookMs = 0): void {
    const now = this.#ports.clock.mono();
    if (by === -1) {
      this.#calledAt = now;
      this.#busy.add(user, tookMs + BREATH_MS);
    } else if (this.#calls === 0 && now - this.#calledAt >= QUIET_MS) {
      this.#busySince = now;
      this.#busy.clear();
    }
    if (by === 1) this.#lists.overtake();
    this.#calls += by;
    if (this.#calls === 0) this.#askAgain();
  }

  needsQuiet(user: number): boolean {
    return (this.#isCatchingUp || this.#isBreathless) && this.#busy.most() === user;
  }

  /** There was no pause for so long that somebody has to make one. Where no call came lately, there is one. */
  get #isBreathless(): boolean {
    const now = this.#ports.clock.mono();
    if (this.#calls === 0 && now - this.#calledAt >= QUIET_MS) return false;
    return now >= Math.max(this.#busySince, this.#askedAt) + OVERDUE_MS + BREATHLESS_MS;
  }

  takenBy(resource: string, ids: readonly string[], signal: AbortSignal): Promise<string | undefined> {
    return this.#doubleUse.of(resource, ids, this.of(resource), signal);
  }

  /** Ends it. */
  close(): void {
    this.#alarm?.cancel();
    this.#halt.abort();
    this.#isAsked();
  }

  #askAgain(): void {
    const { clock } = this.#ports;
    this.#alarm?.cancel();
    if (this.#halt.signal.aborted || this.#isAsking) return;
    const at = Math.max(this.#askedAt + EVERY_MS, this.#quietFrom(this.#askedAt));
    this.#alarm = clock.alarm(Math.max(0, at - clock.mono()), () => void this.#ask());
  }

  /** From when on the kubelet may be asked for all pods, no call being under way, by somebody who asked last at `askedAt`. */
  #quietFrom(askedAt: number): number {
    const overdueAt = Math.max(this.#busySince, askedAt) + OVERDUE_MS;
    return Math.min(this.#calledAt + QUIET_MS, Math.max(overdueAt, this.#calledAt + BREATH_MS));
  }

  async #ask(): Promise<void> {
    if (this.#calls > 0) return; // the end of the last call asks again
    const { podResources, clock, asked } = this.#ports;
    this.#isCatchingUp = this.#isBreathless;
    const askedBefore = this.#askedAt;
    this.#askedAt = clock.mono();
    this.#isAsking = true;
    const overtaken = this.listing();
    try {
      await this.#take(await this.#untilHalt.or(overtaken, (signal) => podResources.list(LIST_MS, signal)));
      if (this.#halt.signal.aborted) return;
      this.#wasAsked(true);
      this.#busy.clear();
      asked(undefined);
      // A kubelet that has only List says nothing about its allocatable devices.
      const has = await podResources.usable(LIST_MS, this.#halt.signal).catch(() => undefined);
      if (has !== undefined) this.listeners.tell((one) => one.kubeletHas?.(has));
    } catch (failure) {
      if (this.#halt.signal.aborted) return;
      if (overtaken.aborted) {
        this.#askedAt = askedBefore; // neither answered nor refused: as soon as it is quiet
        return;
      }
      this.#wasAsked(false);
      asked(asError(failure).message);
    } finally {
      this.#isAsking = false;
      this.#isCatchingUp = false;
      this.#askAgain();
    }
  }

  #wasAsked(isAnswered: boolean): void {
    this.#isAsked();
    this.#changed(this.#given.asked(isAnswered));
    if (!isAnswered || this.#answers >= ANSWERS) return;
    this.#answers += 1;
    if (this.#answers < ANSWERS) return;
    this.#gave.clear();
    this.listeners.tell((one) => one.ownersKnown?.());
  }

  async #take(holdings: readonly PodHolding[]): Promise<void> {
    const { clock, rests, usedTwice } = this.#ports;
    const taken = await ownersIn(holdings, this.#byResource, clock.wall(), rests());
    if (this.#halt.signal.aborted) return;
    this.#byResource = taken.byResource;
    this.#changed(taken.changed);
    for (const [message, resource] of taken.twice) if (!this.#twice.has(message)) usedTwice(resource, message);
    this.#twice = taken.twice;
  }

  #changed(resources: Iterable<string>): void {
    for (const resource of resources) this.#ids.delete(resource);
    for (const resource of resources) this.listeners.tell((one) => one.ownersChanged?.(resource));
  }
}
