// The calls of the kubelet about one resource, passed on with deadlines. Admission of pods is one thread for all of them:
// an Allocate that is held stops every pod of the node, and may be waiting for a plugin whose own pod stands behind it. So
// nothing here waits longer than it says, and each failure is one sentence, because it ends in the pod's status.
import { abortable, type Clock } from '../kernel/clock.js';
import type { DeviceMethod } from '../model/device-use.js';
import { GRPC_STATUS } from '../model/reasons.js';
import type { FailedCall } from '../model/failed-call.js';
import {
  FrontFailure,
  type DeviceCall,
  type FrontedResources,
  type FrontOwners,
  type FrontWire,
  type ResourceNow,
} from './ports.js';
import type { KeptWaiting } from './kept-waiting.js';
import { SilentPlugin } from './silent-plugin.js';
import { standingOf, type Speculation } from './standing.js';

/** The kubelet gives PreStartContainer 30 s: calls that wait at the gate are answered before. */
const GATE_MS = 25_000;
/**
 * So many calls of it wait of one resource, half of those that one connection of a kubelet carries: its next Allocate waits for one of these
 * without a deadline, and every pod of the node behind it.
 */
const MOST_PRE_STARTS = 128;
/** A call that was cut off may fail before the list stream of the same plugin: its end is told within this time. */
const LOSS_TOLD_MS = 500;

/** Deadlines, in milliseconds. */
export interface FrontLimits {
  readonly holdMs: number;
  readonly allocateMs: number;
  readonly preferredMs: number;
  readonly preStartMs: number;
}

/** The ports of the calls, of FrontedResource (front/fronted-resource). */
export interface FrontCallsPorts {
  readonly resource: string;
  readonly resources: Omit<FrontedResources, 'names'>;
  readonly owners: FrontOwners;
  readonly wire: FrontWire;
  readonly clock: Clock;
  readonly limits: FrontLimits;
  /** Shared by all resources. */
  readonly keptWaiting: KeptWaiting;
  /** The ordinary user whose plugin speaks for a resource; undefined: it is root's, or the broker's own user's, and has no limit. */
  readonly userOf: (resource: string) => number | undefined;
  readonly speculation: () => Speculation;
  readonly gateWaited: (seconds: number) => void;
}

/** Calls of one resource. */
export class FrontCalls {
  readonly #ports: FrontCallsPorts;
  readonly #halt = new AbortController();
  readonly #underWay = new Set<AbortController>();
  readonly #waiting = new Set<() => void>();
  readonly #silent: SilentPlugin;
  #preStarts = 0;

  constructor(ports: FrontCallsPorts) {
    this.#ports = ports;
    this.#silent = new SilentPlugin(ports, this.#halt.signal, () => this.changed());
  }

  /** The state of the resource changed: waiting calls look again. */
  changed(): void {
    for (const look of [...this.#waiting]) look();
  }

  /** Calls that wait fail. */
  close(): void {
    this.#halt.abort(new FrontFailure(GRPC_STATUS.UNAVAILABLE, this.#sentence('the broker is stopping')));
    for (const given of this.#underWay) given.abort(this.#halt.signal.reason);
  }

  /** Passes a call on. @param given aborted by whoever gives the call up, and by close() @throws FrontFailure */
  async call(method: DeviceMethod, request: Buffer, given: AbortController): Promise<Buffer> {
    const { signal } = given;
    if (this.#halt.signal.aborted) given.abort(this.#halt.signal.reason);
    this.#underWay.add(given);
    try {
      // The kubelet asks for advice just before it chooses devices, marks them as its own, and calls Allocate.
      if (method === 'GetPreferredAllocation') {
        if (this.#paused() !== undefined) return this.#ports.wire.noPreference;
        return await this.#giving(() => this.#preferred(request, signal));
      }
      const ids = this.#idsOf(method, request);
      if (method === 'PreStartContainer') return await this.#preStart(ids, request, signal);
      const paused = this.#paused();
      if (paused !== undefined) throw this.#failure('UNAVAILABLE', paused);
      return await this.#giving(() => this.#allocate(ids, request, signal));
    } finally {
      this.#underWay.delete(given);
    }
  }

  /** Why calls about an ordinary user's devices are refused for a moment, which counts as no giving of devices. */
  #paused(): string | undefined {
    const { owners, keptWaiting, userOf, resource, clock } = this.#ports;
    const user = userOf(resource);
    if (user === undefined) return undefined;
    if (owners.needsQuiet(user))
      return 'the kubelet is to say first which pods have which devices; it is asked just now';
    const waitMs = keptWaiting.waitMs(user, clock.mono());
    if (waitMs === 0) return undefined;
    return `the plugins of its user have kept the pods of this node waiting for too long; they are asked again in ${Math.ceil(waitMs / 1000)} s`;
  }

  /** The kubelet gives devices while `work` is under way. */
  async #giving(work: () => Promise<Buffer>): Promise<Buffer> {
    const { owners, keptWaiting, userOf, resource, clock } = this.#ports;
    const [user, since] = [userOf(resource), clock.mono()];
    owners.allocating(1, user);
    try {
      return await work();
    } finally {
      const now = clock.mono();
      if (user !== undefined) keptWaiting.book(user, now - since, now);
      owners.allocating(-1, user, now - since);
    }
  }

  #idsOf(method: DeviceMethod, request: Buffer): readonly string[] {
    try {
      return this.#ports.wire.idsOf(method, request);
    } catch {
      throw this.#failure('INVALID_ARGUMENT', `${method}: the request cannot be decoded`);
    }
  }

  /** Advice: on any doubt there is none. */
  async #preferred(request: Buffer, signal: AbortSignal): Promise<Buffer> {
    const { resources, resource, wire, limits } = this.#ports;
    const now = resources.now(resource);
    if (now?.state !== 'ready' || !now.options.preferredAllocationAvailable || this.#silent.is(now.instanceId)) {
      return wire.noPreference;
    }
    try {
      const call = { method: 'GetPreferredAllocation', request, limitMs: limits.preferredMs } as const;
      return (await resources.call(now.instanceId, call, signal)) ?? wire.noPreference;
    } catch {
      return wire.noPreference;
    }
  }

  async #allocate(ids: readonly string[], request: Buffer, signal: AbortSignal): Promise<Buffer> {
    const { owners, resource, clock, limits } = this.#ports;
    const until = clock.mono() + limits.holdMs;
    const taken = await owners.takenBy(resource, ids, signal);
    if (taken !== undefined) throw this.#failure('FAILED_PRECONDITION', taken);
    for (;;) {
      const now = await this.#whenOpen('allocate', until, signal);
      const { instanceId } = now;
      // One that went unhealthy a moment ago is the plugin's to judge: the kubelet will learn of it.
      await this.#refuse(now, ids, 'unlisted');
      try {
        owners.giving(resource, ids);
        const call = { method: 'Allocate', request, limitMs: limits.allocateMs } as const;
        const answer = await this.#pass(instanceId, call, signal);
        owners.giving(resource, ids);
        return answer;
      } catch (failure) {
        // The plugin went away under the call: it may be back before the hold is over, and may be asked twice.
        if (failure instanceof FrontFailure && failure.isCutOff) await this.#lossOf(instanceId, until, signal);
        if (this.#isThere(instanceId) || clock.mono() >= until || signal.aborted) throw failure;
      }
    }
  }

  async #preStart(ids: readonly string[], request: Buffer, signal: AbortSignal): Promise<Buffer> {
    if (this.#preStarts >= MOST_PRE_STARTS)
      throw this.#failure(
        'RESOURCE_EXHAUSTED',
        `${MOST_PRE_STARTS} containers of it wait for PreStartContainer already`,
      );
    this.#preStarts += 1;
    try {
      return await this.#waitToStart(ids, request, signal);
    } finally {
      this.#preStarts -= 1;
    }
  }

  async #waitToStart(ids: readonly string[], request: Buffer, signal: AbortSignal): Promise<Buffer> {
    const { wire, clock, limits, gateWaited } = this.#ports;
    const since = clock.mono();
    const until = since + GATE_MS;
    const now = await this.#whenOpen('preStart', until, signal);
    gateWaited((clock.mono() - since) / 1000);
    await this.#refuse(now, ids, 'unhealthy');
    if (!now.options.preStartRequired) return wire.started;
    const limitMs = Math.max(1, Math.min(limits.preStartMs, until - clock.mono()));
    return this.#pass(now.instanceId, { method: 'PreStartContainer', request, limitMs }, signal);
  }

  /** Plugins answer for devices that they have not. @param from unhealthy: unlisted ones, too @throws FrontFailure */
  async #refuse(now: ResourceNow, ids: readonly string[], from: 'unlisted' | 'unhealthy'): Promise<void> {
    const health = await this.#ports.wire.healthInTurns(now.list, ids);
    const bad = ids.find((id) => (from === 'unhealthy' ? health.get(id) !== true : !health.has(id)));
    if (bad === undefined) return;
    const what = health.has(bad) ? 'is not healthy' : 'is not listed by its plugin any more';
    throw this.#failure('FAILED_PRECONDITION', `device ${JSON.stringify(bad)} ${what}`);
  }

  /** Waits until the plugin can be asked. @returns the resource at that moment @throws FrontFailure */
  async #whenOpen(way: 'allocate' | 'preStart', until: number, signal: AbortSignal): Promise<ResourceNow> {
    const { resources, resource, clock, speculation } = this.#ports;
    for (;;) {
      const now = resources.now(resource);
      const { [way]: verdict } = standingOf(now, speculation());
      if (now !== undefined && verdict === 'open' && !this.#silent.is(now.instanceId)) return now;
      if (verdict === 'refused') throw this.#failure('FAILED_PRECONDITION', `its plugin is ${describe(now)}`);
      const leftMs = until - clock.mono();
      if (verdict === 'open' && (way === 'allocate' || leftMs <= 0)) {
        throw this.#failure(
          'UNAVAILABLE',
          'its plugin did not answer the last call in time, and has not answered since',
        );
      }
      if (verdict === 'away' || leftMs <= 0) {
        const waited = verdict === 'away' ? '' : ' and did not come back in time';
        throw this.#failure('UNAVAILABLE', `its plugin is ${describe(now)}${waited}`);
      }
      await this.#nextChange(leftMs, signal);
    }
  }

  async #pass(instanceId: string, call: DeviceCall, signal: AbortSignal): Promise<Buffer> {
    const { method, limitMs } = call;
    try {
      const answer = this.#ports.resources.call(instanceId, call, signal);
      if (answer === undefined) throw this.#failure('UNAVAILABLE', 'its plugin was lost just now');
      return await answer;
    } catch (thrown) {
      if (thrown instanceof FrontFailure) throw thrown;
      // The plugin has done nothing wrong: the broker gave the call up, and says why.
      if (signal.reason instanceof FrontFailure) throw signal.reason;
      const { status, message, fault } = thrown as FailedCall;
      if (status === GRPC_STATUS.DEADLINE_EXCEEDED && !signal.aborted) {
        this.#silent.fell(instanceId);
        throw this.#failure('UNAVAILABLE', `its plugin did not answer ${method} within ${String(limitMs)} ms`);
      }
      const { resource } = this.#ports;
      const isCutOff = fault !== undefined && fault !== 'no-answer' && fault !== 'given-up';
      throw new FrontFailure(status, `${resource}: its plugin failed ${method}: ${message}`, isCutOff);
    }
  }

  /** Resolves when an instance is not ready any more, or is so after all. */
  async #lossOf(instanceId: string, until: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#ports;
    const told = Math.min(until, clock.mono() + LOSS_TOLD_MS);
    while (this.#isThere(instanceId) && clock.mono() < told) await this.#nextChange(told - clock.mono(), signal);
  }

  #isThere(instanceId: string): boolean {
    const { resources, resource } = this.#ports;
    const now = resources.now(resource);
    return now?.instanceId === instanceId && (now.state === 'ready' || now.state === 'orphaned');
  }

  /** Resolves with the next change, or when the time is over. */
  async #nextChange(limitMs: number, signal: AbortSignal): Promise<void> {
    let wake = (): void => undefined;
    const change = new Promise<void>((resolve) => (wake = resolve));
    const alarm = this.#ports.clock.alarm(limitMs, wake);
    this.#waiting.add(wake);
    try {
      await abortable(change, signal);
    } finally {
      alarm.cancel();
      this.#waiting.delete(wake);
    }
  }

  #failure(status: keyof typeof GRPC_STATUS, why: string): FrontFailure {
    return new FrontFailure(GRPC_STATUS[status], this.#sentence(why));
  }

  #sentence(why: string): string {
    const { resource } = this.#ports;
    return `${resource}: ${why}; see plugin-broker explain ${resource}`;
  }
}

function describe(now: { readonly state: string; readonly reason: string } | undefined): string {
  return now === undefined ? 'gone' : `${now.state} (${now.reason})`;
}
