// PodResources where a kubelet has pods beside our leases: that kubelet's answer, and ours behind it. List has an effect in a
// kubelet (it forgets which devices it is about to give), so it is asked seldom and never while it allocates from us; however
// often our own clients call, it sees one client that asks at most once a second.
import { asError, withDeadline, type Clock } from '../kernel/clock.js';
import { Paces } from '../kernel/paces.js';
import { Until } from '../kernel/until.js';
import { strangerUser, type Caller, type UserFacts } from '../model/ids.js';
import { MAX_ANSWER_BYTES } from './answer-room.js';
import { EVERY_MS, Kept, LIMIT_MS } from './kept.js';
import type { LeaseAnswers } from './lease-answers.js';
import { podKey } from './pods.js';
import {
  KUBELET_RATE,
  type AllocatablePart,
  type Got,
  type KubeletAnswers,
  type KubeletPod,
  type PodResourcesBackend,
  type PodResourcesVersion,
} from './ports.js';
import { PATIENCE_MS, Silence } from './silence.js';

/** How often the kubelet is asked for single pods: half of what it answers to all its callers, because the front asks, too. */
const GETS = { burst: KUBELET_RATE.burst / 2, intervalMs: KUBELET_RATE.intervalMs * 2 };
/** And of these for each ordinary user. */
const GETS_OF_USER = { burst: GETS.burst, intervalMs: GETS.intervalMs * 5 };

/** The sources of the answer. */
export interface UpstreamPorts extends UserFacts {
  readonly kubelet: KubeletAnswers;
  readonly clock: Clock;
  /** Whether that kubelet gives devices now: Owners (front/owners). Undefined where the broker has no front. */
  readonly owners: { mayList(ageMs: number): boolean; listing(): AbortSignal } | undefined;
  /** Why the kubelet does not answer (one sentence); undefined: it does. Conditions.set (journal/conditions). */
  readonly unanswered: (why: string | undefined) => void;
  /**
   * So many pods and owners are not in List, because it would be too long; 0: all are. `incompleteAnswers`
   * (podresources/incomplete) tells it.
   */
  readonly incomplete: (left: number) => void;
}

/** A kubelet's answers with ours behind them. */
export class UpstreamAnswers implements PodResourcesBackend {
  readonly #ports: UpstreamPorts;
  readonly #own: LeaseAnswers;
  readonly #gets = new Paces<'all'>(GETS);
  readonly #getsOfUser = new Paces<number>(GETS_OF_USER);
  readonly #halt = new AbortController();
  readonly #pods: Kept<KubeletPods>;
  readonly #devices: Kept<KubeletDevices>;
  readonly #joined = new Map<PodResourcesVersion, { theirs: KubeletPods; own: Buffer; bytes: Buffer }>();
  /** Questions about single pods that are under way: all that ask for the same pod meanwhile share the answer. */
  readonly #asking = new Map<string, Promise<Buffer | undefined>>();
  readonly #silence: Silence;
  /** Why the newest of them that failed did. */
  #failure: unknown;

  /** @param own answers with leases */
  constructor(own: LeaseAnswers, ports: UpstreamPorts) {
    this.#ports = ports;
    this.#own = own;
    const { clock, kubelet, owners, unanswered } = ports;
    const { signal } = this.#halt;
    this.#silence = new Silence(clock);
    // Each of the two has its own trouble, and what is told is all of it.
    const failures = new Map<string, string>();
    const told = (what: string) => (failure: unknown) => {
      if (signal.aborted) return;
      failures.delete(what);
      if (failure !== undefined) failures.set(what, `${what} of PodResources: ${asError(failure).message}`);
      const all = [...failures.values()].sort();
      unanswered(all.length === 0 ? undefined : `the kubelet does not answer ${all.join('; nor ')}`);
    };
    const untilHalt = new Until(signal);
    const list = async (): Promise<KubeletPods | undefined> => {
      const overtaken = owners?.listing() ?? signal;
      try {
        const pods = await untilHalt.or(overtaken, (both) => kubelet.list(LIMIT_MS, both));
        return {
          pods,
          bytes: pods.reduce((sum, { bytes }) => sum + bytes.length, 0),
          keys: new Set(pods.map(({ namespace, name }) => podKey(namespace, name))),
        };
      } catch (failure) {
        if (overtaken.aborted) return undefined;
        throw failure;
      }
    };
    const mayList = (ageMs: number): boolean => owners?.mayList(ageMs) ?? true;
    this.#pods = new Kept(clock, list, told('List'), mayList);
    this.#devices = new Kept(
      clock,
      async () => {
        const parts = await kubelet.allocatable(LIMIT_MS, signal);
        return { parts, resources: new Set(parts.map(({ resource }) => resource).filter((name) => name !== '')) };
      },
      told('GetAllocatableResources'),
      () => true,
    );
  }

  /**
   * Pods of the kubelet first. While it does not answer, its last answer stays true: nobody else starts or ends pods. Owners
   * choose their names, and one that has a pod's is not in it.
   */
  async list(version: PodResourcesVersion): Promise<Buffer> {
    const [theirs = NO_PODS] = await Promise.all([this.#pods.get(), this.#hear(PATIENCE_MS)]);
    const own = this.#own.list(version, theirs.keys, theirs.bytes);
    const known = this.#joined.get(version);
    if (known?.theirs === theirs && known.own === own) return known.bytes;
    const fitting: Buffer[] = [];
    let size = own.length;
    for (const { bytes: pod } of theirs.pods) {
      if (size + pod.length > MAX_ANSWER_BYTES) continue;
      size += pod.length;
      fitting.push(pod);
    }
    const bytes = Buffer.concat([...fitting, own]);
    this.#joined.set(version, { theirs, own, bytes });
    this.#ports.incomplete(theirs.pods.length - fitting.length);
    return bytes;
  }

  /** Devices of the kubelet, those that it has from us too, with those for owners of leases. */
  async allocatable(): Promise<Buffer> {
    return this.#own.allocatable((await this.#devices.get())?.parts);
  }

  /**
   * An owner of ours that is called as no pod, else a pod as the kubelet has it now. Owners choose their names: one that is called
   * as a pod does not stand for it, unless the kubelet was never heard or says nothing. It has one limit for all its callers, and
   * the front needs Get to confirm.
   */
  async get(namespace: string, name: string, caller?: Caller): Promise<Got> {
    // Nobody who asks for a pod waits for what only owners are told by.
    await this.#hear(0);
    const isOwner = this.#own.get(namespace, name) !== undefined;
    const [pods] = isOwner ? await Promise.all([this.#pods.get(PATIENCE_MS), this.#hear(PATIENCE_MS)]) : [];
    const own = this.#own.get(namespace, name);
    const isPod = own === undefined || pods?.keys.has(podKey(namespace, name)) === true;
    if (!isPod && (this.#pods.ageMs <= EVERY_MS || this.#pods.isAsking)) return own;
    if (!this.#asking.has(podKey(namespace, name)) && !this.#mayGet(caller))
      return !isPod && this.#pods.isFailing ? own : 'limited';
    if (isPod) return (await this.#pod(namespace, name)) ?? own;
    return (await this.#ask(namespace, name, PATIENCE_MS).catch(() => undefined)) ?? own;
  }

  /** Has our own answers know the resources of the kubelet, as far as it has told them within so many milliseconds. */
  async #hear(patienceMs: number): Promise<void> {
    const { resources } = (await this.#devices.get(patienceMs)) ?? NO_DEVICES;
    this.#own.kubeletHas(resources);
  }

  /** Rejects at once, as the question before did, where that timed out a moment ago. One at a time goes on trying meanwhile. */
  #ask(namespace: string, name: string, usualMs: number): Promise<Buffer | undefined> {
    const waitMs = this.#silence.waitMs(usualMs);
    if (waitMs === 0) {
      if (this.#asking.size === 0) this.#get(namespace, name).catch(() => undefined);
      return Promise.reject(asError(this.#failure));
    }
    const asking = this.#asking.get(podKey(namespace, name)) ?? this.#get(namespace, name);
    const late = (): Error => new Error(`the kubelet did not answer within ${String(waitMs)} ms`);
    return waitMs < LIMIT_MS ? withDeadline(this.#ports.clock, waitMs, late, () => asking) : asking;
  }

  async #get(namespace: string, name: string): Promise<Buffer | undefined> {
    const { kubelet, clock } = this.#ports;
    const key = podKey(namespace, name);
    const askedAt = clock.mono();
    const asking = kubelet.get(namespace, name, LIMIT_MS, this.#halt.signal).finally(() => this.#asking.delete(key));
    this.#asking.set(key, asking);
    try {
      const bytes = await asking;
      this.#silence.ended(askedAt, true);
      return bytes;
    } catch (failure) {
      this.#failure = failure;
      this.#silence.ended(askedAt, false);
      throw failure;
    }
  }

  /** A pod as the kubelet has it now, or, where it answers List and not Get (1.32 may have it switched off), as its List has it. */
  async #pod(namespace: string, name: string): Promise<Buffer | undefined> {
    try {
      return await this.#ask(namespace, name, LIMIT_MS);
    } catch (failure) {
      const key = podKey(namespace, name);
      const listed = (await this.#pods.get(PATIENCE_MS))?.pods.find((pod) => podKey(pod.namespace, pod.name) === key);
      if (listed === undefined || this.#pods.isFailing) throw failure;
      return listed.bytes;
    }
  }

  #mayGet(caller: Caller | undefined): boolean {
    const now = this.#ports.clock.mono();
    const stranger = caller === undefined ? undefined : strangerUser(caller.uid, this.#ports);
    return (stranger === undefined || this.#getsOfUser.take(stranger, now)) && this.#gets.take('all', now);
  }

  /** Gives up calls under way. */
  close(): void {
    this.#halt.abort(new Error('the broker is stopping'));
  }
}

interface KubeletPods {
  readonly pods: readonly KubeletPod[];
  readonly keys: ReadonlySet<string>;
  /** Of all of them. */
  readonly bytes: number;
}

interface KubeletDevices {
  readonly parts: readonly AllocatablePart[];
  readonly resources: ReadonlySet<string>;
}

const NO_DEVICES: KubeletDevices = { parts: [], resources: new Set() };
const NO_PODS: KubeletPods = { pods: [], bytes: 0, keys: new Set() };
