// PodResources where a kubelet has pods beside our leases: that kubelet's answer, and ours behind it. List has an effect in a
// kubelet (it forgets which devices it is about to give), so it is asked seldom and never while it allocates from us; however
// often our own clients call, it sees one client that asks at most once a second.
import { asError, type Clock } from '../kernel/clock.js';
import { CallerRates } from './caller-rates.js';
import { MAX_ANSWER_BYTES } from './lease-answers.js';
import type { KubeletAnswers, PodResourcesBackend, PodResourcesVersion } from './ports.js';

/** The kubelet is asked for one answer at most this often. */
const EVERY_MS = 1000;
/** It answers within this, or its last answer stays. */
const LIMIT_MS = 5000;

/** The sources of the answer. */
export interface UpstreamPorts {
  readonly kubelet: KubeletAnswers;
  readonly clock: Clock;
  /** The Allocates of that kubelet: Owners (front/owners). List is not asked meanwhile. Undefined where the broker has no front. */
  readonly owners: { readonly isAllocating: boolean } | undefined;
  /** Why the kubelet does not answer (one sentence); undefined: it does. */
  readonly unanswered: (why: string | undefined) => void;
  /** So many pods and owners are not in List, because it would be too long; 0: all are. */
  readonly incomplete: (left: number) => void;
}

/** A kubelet's answers with ours behind them. */
export class UpstreamAnswers implements PodResourcesBackend {
  readonly #ports: UpstreamPorts;
  readonly #own: PodResourcesBackend;
  readonly #rates: CallerRates;
  readonly #halt = new AbortController();
  readonly #pods: Kept<readonly Buffer[]>;
  readonly #devices: Kept<Buffer>;
  readonly #joined = new Map<PodResourcesVersion, { theirs: readonly Buffer[]; own: Buffer; bytes: Buffer }>();

  /** @param own answers with leases */
  constructor(own: PodResourcesBackend, ports: UpstreamPorts) {
    this.#ports = ports;
    this.#own = own;
    const { clock, kubelet, owners, unanswered } = ports;
    const { signal } = this.#halt;
    this.#rates = new CallerRates(() => clock.mono());
    const told = (what: string) => (failure: unknown) => {
      if (signal.aborted) return;
      const why = failure === undefined ? undefined : asError(failure).message;
      unanswered(why === undefined ? undefined : `the kubelet does not answer ${what} of PodResources: ${why}`);
    };
    const mayList = (): boolean => owners?.isAllocating !== true;
    this.#pods = new Kept(clock, () => kubelet.list(LIMIT_MS, signal), told('List'), mayList);
    this.#devices = new Kept(
      clock,
      () => kubelet.allocatable(LIMIT_MS, signal),
      told('GetAllocatableResources'),
      () => true,
    );
  }

  /** Pods of the kubelet first. While it does not answer, its last answer stays true: nobody else starts or ends pods. */
  async list(version: PodResourcesVersion): Promise<Buffer> {
    const theirs = (await this.#pods.get()) ?? [];
    const own = await this.#own.list(version);
    const known = this.#joined.get(version);
    if (known?.theirs === theirs && known.own === own) return known.bytes;
    const fitting: Buffer[] = [];
    let size = own.length;
    for (const pod of theirs) {
      if (size + pod.length > MAX_ANSWER_BYTES) continue;
      size += pod.length;
      fitting.push(pod);
    }
    const bytes = Buffer.concat([...fitting, own]);
    this.#joined.set(version, { theirs, own, bytes });
    this.#ports.incomplete(theirs.length - fitting.length);
    return bytes;
  }

  /** Devices of the kubelet, those that it has from us too, and then those for owners of leases. */
  async allocatable(): Promise<Buffer> {
    const theirs = (await this.#devices.get()) ?? Buffer.alloc(0);
    const own = await this.#own.allocatable();
    return theirs.length + own.length > MAX_ANSWER_BYTES ? own : Buffer.concat([theirs, own]);
  }

  /**
   * A pod, else an owner of ours: owners choose their names, and one that is called as a pod must not stand for it. The kubelet
   * has one limit for all its callers, and the front needs Get to confirm.
   */
  async get(namespace: string, name: string): Promise<Buffer | undefined> {
    const own = await this.#own.get(namespace, name);
    if (!this.#rates.take(undefined)) {
      if (own !== undefined) return own;
      throw new Error('the kubelet is asked for single pods too often; ask for all');
    }
    const pod = this.#ports.kubelet.get(namespace, name, LIMIT_MS, this.#halt.signal);
    return own === undefined ? pod : ((await pod.catch(() => undefined)) ?? own);
  }

  /** Gives up calls under way. */
  close(): void {
    this.#halt.abort(new Error('the broker is stopping'));
  }
}

/** One answer, asked for at most once in a while, by one call at a time, and kept when asking fails. */
class Kept<T> {
  readonly #clock: Clock;
  readonly #ask: () => Promise<T>;
  readonly #told: (failure: unknown) => void;
  readonly #mayAsk: () => boolean;
  #value: T | undefined;
  #askedAt = -Infinity;
  #asking: Promise<void> | undefined;

  constructor(clock: Clock, ask: () => Promise<T>, told: (failure: unknown) => void, mayAsk: () => boolean) {
    this.#clock = clock;
    this.#ask = ask;
    this.#told = told;
    this.#mayAsk = mayAsk;
  }

  /** Undefined while the kubelet never answered. */
  async get(): Promise<T | undefined> {
    const isDue = this.#clock.mono() - this.#askedAt >= EVERY_MS && this.#mayAsk();
    if (this.#asking === undefined && isDue) {
      this.#askedAt = this.#clock.mono();
      this.#asking = this.#renew().finally(() => (this.#asking = undefined));
    }
    await this.#asking;
    return this.#value;
  }

  async #renew(): Promise<void> {
    try {
      this.#value = await this.#ask();
      this.#told(undefined);
    } catch (failure) {
      this.#told(failure);
    }
  }
}
