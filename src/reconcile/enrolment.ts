// Takes a registration all the way: admission, handler, actual state, disk, answer. Both doors and every pull use it.
import type { Admitted, Admitter, Enroller, RegistrationStore } from '../model/registration.js';
import type { Surroundings } from '../kernel/surroundings.js';
import { cut } from '../kernel/cut.js';
import type { EventSink } from '../model/event.js';
import { incarnationKey, pluginKey } from '../model/ids.js';
import type {
  Enrolment,
  InstanceHandle,
  InstanceReport,
  InstanceReports,
  Outcome,
  PluginHandler,
  PluginState,
  RegistrationRequest,
  WayBack,
} from '../model/plugin.js';
import { Refused, type Refusal } from '../model/reasons.js';
import { type Instance, instanceId, isConnected } from '../model/instance.js';
import { refusedUser, takesNameOfNewer } from './claims.js';
import { isWatched } from './consequences.js';
import { overRefusal, refusalFrom } from './failed-enrolment.js';
import { isNoNews, lostReport, wayBackAfter, wayBackOf } from './pull.js';
import { PendingDropped, type Reconciler } from './reconciler.js';
import type { RegistrationLane } from './registration-lane.js';
import type { Roster } from './roster.js';

/** The ports of enrolment. */
export interface EnrolmentPorts extends Omit<Surroundings, 'random'> {
  readonly admission: Admitter;
  readonly handlers: ReadonlyMap<string, PluginHandler>;
  readonly roster: Roster;
  readonly lane: RegistrationLane;
  /** Makes registrations durable; a registration that cannot be written now is written later, and its plugin serves meanwhile. */
  readonly store: Pick<RegistrationStore, 'expect' | 'persist' | 'isKept'>;
  readonly events: EventSink;
  /** Takes the reports of handlers and enters them into the roster. */
  readonly reports: InstanceReports;
  /** Knows whether the broker comes back to an instance by itself, at a time of its own. */
  readonly reconciler: Pick<Reconciler, 'has'>;
}

/** A registration that was admitted. */
interface Entering {
  readonly request: RegistrationRequest;
  readonly verdict: Admitted;
  readonly handler: PluginHandler;
  readonly id: string;
  /** Its place in the order of registrations. */
  readonly seq: number;
}

/** The mechanism behind Register, the watcher door, restart and pulls. */
export class Enrolments implements Enroller {
  readonly #ports: EnrolmentPorts;

  constructor(ports: EnrolmentPorts) {
    this.#ports = ports;
  }

  /**
   * Takes a plugin in, or says why not. Never rejects: refusals are values, and an exception of a handler becomes one.
   *
   * @param signal gives up; its reason may be a Refused that says so, or a PendingDropped: then nobody was refused
   */
  async enrol(request: RegistrationRequest, signal: AbortSignal): Promise<Outcome> {
    const { clock, metrics } = this.#ports;
    const startedAt = clock.mono();
    const type = this.#typeOf(request);
    const wayBack = wayBackOf(this.#meant(request), request);
    let outcome: Outcome;
    try {
      outcome = await this.#enrol(request, this.#ports.roster.nextSeq(), signal);
    } catch (failure) {
      outcome = { ok: false, refusal: refusalFrom(failure, request) };
    }
    metrics.registrationSeconds(type, (clock.mono() - startedAt) / 1000);
    if (outcome.ok) metrics.registration(type, 'accepted', '');
    else if (signal.reason instanceof PendingDropped) this.#givenUp(request, signal.reason);
    else if (isNoNews(request, outcome.refusal, wayBack)) this.#notThere(request, outcome.refusal);
    else this.#refused(request, outcome);
    return outcome;
  }

  refuse(request: RegistrationRequest, refusal: Refusal): void {
    this.#refused(request, { ok: false, refusal });
  }

  async #enrol(request: RegistrationRequest, seq: number, signal: AbortSignal): Promise<Outcome> {
    const handler = this.#ports.handlers.get(request.type);
    const verdict = await this.#ports.admission.admit(request, handler, signal);
    if (!verdict.admitted) return { ok: false, refusal: verdict.refusal };
    const { socket, endpoint } = verdict;
    try {
      if (handler === undefined) throw new Error(`admission let in the type ${request.type} that no handler serves`);
      const id = instanceId(request.type, request.name, incarnationKey(socket.incarnation));
      const entering = { request, verdict, handler, id, seq };
      // A caller that gave up while others of its name were registering is not taken in when its turn comes.
      return await this.#ports.lane.run(entering, (until) => this.#register(entering, until), signal);
    } finally {
      socket.release();
      endpoint.release();
    }
  }

  async #register(entering: Entering, signal: AbortSignal): Promise<Outcome> {
    const { request, verdict, id, seq } = entering;
    const { roster, reports, store } = this.#ports;
    const known = roster.get(id);
    if (known !== undefined && (this.#hasItsSession(known) || this.#hasToWait(known, request))) {
      return this.#again(known, request);
    }
    const wayBack = wayBackOf(known, request);
    const refusedNow = verdict.recheck();
    if (refusedNow !== undefined) return { ok: false, refusal: refusedNow };
    // A pull is no new registration: it does not overtake plugins that registered meanwhile.
    const instance = roster.begin(
      this.#enrolment(request, verdict, known),
      request.pulled ? (known?.seq ?? seq) : seq,
      wayBack,
    );
    const { state } = instance;
    try {
      await this.#handOver(instance, entering, wayBack, signal);
    } catch (failure) {
      const over = this.#endedSince(state, instance);
      const refusal = over === undefined ? refusalFrom(failure, request) : overRefusal(instance, over);
      roster.reject(instance, refusal, !isNoNews(request, refusal, wayBack), wayBackAfter(wayBack, refusal));
      return { ok: false, refusal, instanceId: id };
    }
    if (instance.isServing) reports.serving(id);
    const durable = await store.persist(instance, request.pulled);
    return { ok: true, instanceId: id, durable };
  }

  /** The same incarnation again while it serves: nothing to do, nothing leaks. */
  async #again(known: Instance, { pulled }: RegistrationRequest): Promise<Outcome> {
    if (!pulled) known.counters.registrations += 1;
    if (known.isPresumed && !pulled) await this.#ownWord(known);
    return { ok: true, instanceId: known.id, durable: known.isDurable && (await this.#ports.store.isKept()) };
  }

  /**
   * Has the handler register a plugin, and confirms the instance in the roster. The plugin decides how long it takes to answer, and
   * others may have taken its name meanwhile: it is let in only by what holds then.
   *
   * @throws what the handler throws, and Refused when the instance ended or may not come in any more
   */
  async #handOver(
    instance: Instance,
    { request, verdict, handler, id }: Entering,
    wayBack: WayBack | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { roster, store, reports } = this.#ports;
    const { state } = instance;
    const told: InstanceReport[] = [];
    const handle = this.#handle(id, (report) => void told.splice(0, 1, report));
    const answer = handler.register(this.#held(instance), handle, signal);
    store.expect();
    const accepted = await answer;
    const over = told.find((report) => report.state !== 'ready') ?? this.#endedSince(state, instance);
    const refusal = over === undefined ? verdict.recheck() : overRefusal(instance, over);
    if (refusal !== undefined) {
      // A newcomer leaves nothing behind; for a plugin that may come back the reason tells the handler what to keep.
      const reason = instance.state === 'connecting' ? (wayBack?.reason ?? 'deregistered') : instance.reason;
      void handler.deregister(id, reason).catch(() => undefined);
      // Its session has ended, too, which would have told of it.
      if (isWatched(instance)) reports.report(id, lostReport(refusal.message));
      throw new Refused(refusal);
    }
    // Else the other user would keep the name by registering once more while its rightful owner is on the way.
    const siblings = roster.ofPlugin(request.type, request.name);
    if (!request.pulled && takesNameOfNewer(instance, siblings, verdict.policy.uids)) instance.seq = roster.nextSeq();
    instance.counters.registrations += request.pulled ? 0 : 1;
    const isKnown = request.pulled || request.door === 'watcher';
    const isBack = state === 'restored' ? isKnown : request.pulled && instance.registeredAt > 0;
    roster.confirm(instance, accepted, isBack ? 'confirmed' : 'registered');
    if (!request.pulled) this.#correct(instance);
  }

  #hasItsSession(known: Instance): boolean {
    return isConnected(known) && known.reason !== 'list-unwatched';
  }

  /** Disconnected for its lists: a call does not end its pause of ten update intervals. */
  #hasToWait(known: Instance, { pulled }: RegistrationRequest): boolean {
    return (
      !pulled &&
      known.state === 'held' &&
      known.reason === 'update-flood' &&
      this.#ports.reconciler.has(known.id, known.socketKey)
    );
  }

  /** It was presumed under its name and has said it now, which is to be known after the next restart, too. */
  async #ownWord(known: Instance): Promise<void> {
    known.isPresumed = false;
    this.#correct(known);
    await this.#ports.store.persist(known);
  }

  /** A socket has told its name: an instance that was presumed there under another name is gone. */
  #correct({ type, name, endpointKey, endpointPath }: Instance): void {
    for (const other of this.#ports.roster.claimantsOf(type, endpointKey, name)) {
      if (!other.isPresumed) continue;
      const message = `${endpointPath} registered as ${name}`;
      this.#ports.reports.report(other.id, { state: 'gone', reason: 'path-taken', message });
    }
  }

  /** The report that ended the instance while its plugin was being asked: an operator, a quarantine, the loss of its socket. */
  #endedSince(before: PluginState, instance: Instance): InstanceReport | undefined {
    const { state, reason, message } = instance;
    if (this.#ports.roster.get(instance.id) !== instance) return { state: 'gone', reason: 'deregistered', message };
    const isOver = state === 'gone' || state === 'rejected' || (state === 'quarantined' && before !== state);
    return isOver ? { state, reason, message } : undefined;
  }

  #enrolment(request: RegistrationRequest, verdict: Admitted, known: Instance | undefined): Enrolment {
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
      listener: verdict.listener,
      policy: verdict.policy,
    };
  }

  #held(instance: Instance): Enrolment {
    if (instance.enrolment === undefined) throw new Error(`${instance.id} counts without holding its sockets`);
    return instance.enrolment;
  }

  #handle(id: string, note: (report: InstanceReport) => void): InstanceHandle {
    return {
      id,
      report: (report) => {
        note(report);
        this.#ports.reports.report(id, report);
      },
      serving: () => this.#ports.reports.serving(id),
    };
  }

  /** The broker itself left off, most often because the socket has gone: no fault of the plugin, and no refusal. */
  #givenUp(request: RegistrationRequest, { message }: PendingDropped): void {
    const sentence = `${cut(request.name, 128)}: its registration was given up (${message})`;
    this.#ports.log.info('registration.given-up', sentence, this.#about(request));
  }

  #about(request: RegistrationRequest): { readonly plugin: string; readonly socket: string } {
    const plugin = pluginKey({ type: cut(request.type, 64), name: cut(request.name, 128) });
    return { plugin, socket: cut(request.socket?.path ?? this.#ports.admission.whereIs(request), 160) };
  }

  /** The instance that a pull means. */
  #meant({ type, name, expected = '' }: RegistrationRequest): Instance | undefined {
    return this.#ports.roster.get(instanceId(type, name, expected));
  }

  /** We came back to an incarnation that is there no more, as after a healthy restart, or hangs still: nobody was refused. */
  #notThere(request: RegistrationRequest, { code, message }: Refusal): void {
    this.#ports.log.debug('registration.not-there', message, { code, ...this.#about(request) });
  }

  #typeOf({ type }: RegistrationRequest): string {
    return this.#ports.handlers.has(type) ? type : 'other';
  }

  #refused(request: RegistrationRequest, { refusal, instanceId: id }: Extract<Outcome, { ok: false }>): void {
    const { events, log, metrics, roster } = this.#ports;
    // Counted by the roster where it got that far; admission refuses before it looks which incarnation it is.
    const asked = roster.ofPlugin(request.type, request.name).find((one) => one.endpointAsSent === request.endpoint);
    const by = refusedUser(request, roster.ofPlugin(request.type, request.name));
    if (id === undefined && asked && !request.pulled && !by.facts) asked.counters.rejected += 1;
    metrics.registration(this.#typeOf(request), 'refused', refusal.code);
    const about = this.#about(request);
    events.record({ type: 'refused', reason: refusal.code, ...about, ...by, message: refusal.message });
    const fields = { code: refusal.code, ...about, uid: request.caller?.uid, pid: request.caller?.pid };
    log.warn('registration.refused', refusal.message, fields);
  }
}
