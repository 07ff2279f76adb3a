// Takes a registration all the way: admission, handler, actual state, disk, answer. Both doors and every pull use it.
import type { Clock } from '../kernel/clock.js';
import type { KeyedLane } from '../kernel/keyed-lane.js';
import type { Log } from '../kernel/log.js';
import type { Metrics } from '../kernel/metrics.js';
import type { EventSink } from '../model/event.js';
import { incarnationKey, pluginKey, type Caller } from '../model/ids.js';
import type {
  Enrolment,
  InstanceHandle,
  Outcome,
  PinnedSocket,
  PluginHandler,
  RegistrationRequest,
} from '../model/plugin.js';
import { Refused, type Refusal } from '../model/reasons.js';
import type { PluginPolicy } from '../model/settings.js';
import { instanceId, isConnected, type Instance } from './instance.js';
import type { Roster } from './roster.js';

/** The verdict of admission, as this stage needs it. */
export type AdmissionVerdict =
  | {
      readonly admitted: true;
      readonly socket: PinnedSocket;
      readonly endpoint: PinnedSocket;
      readonly caller: Caller | undefined;
      readonly policy: PluginPolicy;
    }
  | { readonly admitted: false; readonly refusal: Refusal };

/** What enrolment needs. */
export interface EnrolmentPorts {
  readonly admit: (
    request: RegistrationRequest,
    handler: PluginHandler | undefined,
    signal: AbortSignal,
  ) => Promise<AdmissionVerdict>;
  readonly handlers: ReadonlyMap<string, PluginHandler>;
  readonly roster: Roster;
  readonly lane: KeyedLane;
  /** Makes the registration durable; false: it could not be written now (contract 5), the plugin serves meanwhile. */
  readonly persist: (instance: Instance) => Promise<boolean>;
  readonly events: EventSink;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
  /** What is done with reports of handlers (grace, pulls); the roster is changed by it. */
  readonly report: InstanceHandle['report'] extends (report: infer R) => void ? (id: string, report: R) => void : never;
  readonly serving: (id: string) => void;
}

/** The mechanism behind Register, the watcher door, restart and pulls. */
export class Enrolments {
  readonly #ports: EnrolmentPorts;
  #seq = 0;

  constructor(ports: EnrolmentPorts) {
    this.#ports = ports;
  }

  /** The next place in the order of registrations; also for entries of the checkpoint. */
  nextSeq(): number {
    this.#seq += 1;
    return this.#seq;
  }

  /**
   * Takes a plugin in, or says why not. Never rejects: refusals are values, and what a handler throws becomes one.
   *
   * @param signal gives up; its reason may be a Refused that says so
   */
  async enrol(request: RegistrationRequest, signal: AbortSignal): Promise<Outcome> {
    const { clock, metrics } = this.#ports;
    const startedAt = clock.mono();
    const type = this.#ports.handlers.has(request.type) ? request.type : 'other';
    let outcome: Outcome;
    try {
      outcome = await this.#enrol(request, this.nextSeq(), signal);
    } catch (failure) {
      outcome = { ok: false, refusal: refusalFrom(failure, request) };
    }
    metrics.registrationSeconds(type, (clock.mono() - startedAt) / 1000);
    if (outcome.ok) metrics.registration(type, 'accepted', '');
    else this.#refused(request, outcome.refusal, type);
    return outcome;
  }

  async #enrol(request: RegistrationRequest, seq: number, signal: AbortSignal): Promise<Outcome> {
    const handler = this.#ports.handlers.get(request.type);
    const verdict = await this.#ports.admit(request, handler, signal);
    if (!verdict.admitted) return { ok: false, refusal: verdict.refusal };
    const { socket, endpoint } = verdict;
    try {
      if (handler === undefined) throw new Error(`admission let in the type ${request.type} that no handler serves`);
      const id = instanceId(request.type, request.name, incarnationKey(socket.incarnation));
      const key = handler.serialBy === 'plugin' ? pluginKey(request) : id;
      return await this.#ports.lane.run(key, () => this.#register(request, verdict, handler, id, seq, signal));
    } finally {
      socket.release();
      endpoint.release();
    }
  }

  async #register(
    request: RegistrationRequest,
    verdict: Extract<AdmissionVerdict, { admitted: true }>,
    handler: PluginHandler,
    id: string,
    seq: number,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const { roster } = this.#ports;
    const known = roster.get(id);
    // The same incarnation again while it serves: nothing to do, nothing leaks (contract 3).
    if (known !== undefined && isConnected(known) && known.reason !== 'list-unwatched') {
      known.counters.registrations += 1;
      return { ok: true, instanceId: id, durable: known.isDurable };
    }
    const instance = roster.begin(this.#enrolment(request, verdict, known), seq);
    const wasRestored = instance.state === 'restored';
    try {
      const accepted = await handler.register(this.#held(instance), this.#handle(id), signal);
      instance.counters.registrations += request.pulled ? 0 : 1;
      roster.confirm(
        instance,
        accepted,
        wasRestored && (request.pulled || request.door === 'watcher') ? 'confirmed' : 'registered',
      );
    } catch (failure) {
      const refusal = refusalFrom(failure, request);
      roster.reject(instance, refusal);
      return { ok: false, refusal, instanceId: id };
    }
    if (instance.isServing) this.#ports.serving(id);
    const durable = await this.#ports.persist(instance);
    return { ok: true, instanceId: id, durable };
  }

  #enrolment(
    request: RegistrationRequest,
    verdict: Extract<AdmissionVerdict, { admitted: true }>,
    known: Instance | undefined,
  ): Enrolment {
    return {
      door: request.door,
      pulled: request.pulled,
      // A plugin that calls Register asks for a fresh stream, as after a kubelet restart; when nobody called, we are
      // careful with an instance that had a stream before.
      resumed: known?.wasWatched === true && (request.pulled || request.door === 'watcher'),
      type: request.type,
      name: request.name,
      versions: request.versions,
      socket: verdict.socket,
      endpoint: verdict.endpoint,
      endpointAsSent: request.endpoint === '' ? verdict.endpoint.path : request.endpoint,
      caller: verdict.caller,
      policy: verdict.policy,
    };
  }

  #held(instance: Instance): Enrolment {
    if (instance.enrolment === undefined) throw new Error(`${instance.id} counts without holding its sockets`);
    return instance.enrolment;
  }

  #handle(id: string): InstanceHandle {
    return {
      id,
      report: (report) => this.#ports.report(id, report),
      serving: () => this.#ports.serving(id),
    };
  }

  #refused(request: RegistrationRequest, refusal: Refusal, type: string): void {
    const { events, log, metrics } = this.#ports;
    metrics.registration(type, 'refused', refusal.code);
    const plugin = pluginKey({ type: request.type.slice(0, 64), name: request.name.slice(0, 128) });
    const socket = (request.socket?.path ?? request.endpoint).slice(0, 160);
    events.record({ type: 'refused', reason: refusal.code, plugin, socket, message: refusal.message });
    const fields = { code: refusal.code, plugin, socket, uid: request.caller?.uid, pid: request.caller?.pid };
    log.warn('registration.refused', refusal.message, fields);
  }
}

/** What was thrown, as a refusal. */
function refusalFrom(failure: unknown, request: { readonly name: string }): Refusal {
  if (failure instanceof Refused) return failure.refusal;
  const why = failure instanceof Error ? failure.message : String(failure);
  return { code: 'HANDLER_FAILED', message: `${request.name.slice(0, 128)}: ${why}` };
}
