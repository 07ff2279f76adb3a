// Wires the stages on the data's way: doors → admission → handlers and sessions → roster → inventory. Everything that
// touches disk, sockets or packages is handed in. The routes between stages are all in this file.
import { Admission } from '../admission/admission.js';
import { endpointPath } from '../admission/endpoint.js';
import type { FloodPort, Listener, PinProblem } from '../admission/ports.js';
import type { Clock } from '../kernel/clock.js';
import { KeyedLane } from '../kernel/keyed-lane.js';
import type { Log } from '../kernel/log.js';
import type { Metrics } from '../kernel/metrics.js';
import type { Random } from '../kernel/random.js';
import { Inventory, type Holding, type ListDecoder } from '../inventory/inventory.js';
import { resourcesOf, type Resource } from '../inventory/resources.js';
import type { EventSink } from '../model/event.js';
import { incarnationKey } from '../model/ids.js';
import type { Enrolment, PinnedSocket, PluginHandler } from '../model/plugin.js';
import type { Refusal } from '../model/reasons.js';
import type { AdmissionSettings, LivenessSettings, PluginPolicy, Settings } from '../model/settings.js';
import { Enrolments } from '../reconcile/enrolment.js';
import { isLive, type Instance } from '../reconcile/instance.js';
import { Lifecycle } from '../reconcile/lifecycle.js';
import { Reconciler } from '../reconcile/reconciler.js';
import { Restart } from '../reconcile/restart.js';
import { Roster } from '../reconcile/roster.js';
import { Narration } from './narration.js';
import { RegistrySockets } from './registry-sockets.js';
import type { RegistrationClient } from '../registration/ports.js';
import { RegisterDoor } from '../registration/register-door.js';
import { WatcherDoor } from '../registration/watcher-door.js';
import { DevicePluginHandler } from '../session/device-plugin-handler.js';
import type { PluginDialler, SocketMover, UpdatePacer } from '../session/ports.js';

/** What is read again at each decision, because it can be reloaded. */
export interface LiveSettings {
  readonly settings: Settings;
  readonly admission: AdmissionSettings;
  readonly liveness: LivenessSettings;
  nameAllowed(name: string): boolean;
  policyFor(type: string, name: string, socket: string): PluginPolicy;
}

/** The outside, as the core sees it. */
export interface CorePorts {
  readonly live: LiveSettings;
  /** The broker's own process, so that it never dials itself. */
  readonly self: { readonly uid: number; readonly pid: number };
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly events: EventSink;
  readonly flood: FloodPort;
  readonly openPacer: (enrolment: Enrolment, instanceId: string) => UpdatePacer;
  readonly pin: (path: string) => PinnedSocket | PinProblem;
  readonly keyAt: (path: string) => string | undefined;
  readonly realDirectory: (path: string) => string | undefined;
  readonly listenerOf: (socket: PinnedSocket) => Listener;
  readonly answers: (path: string) => Promise<boolean>;
  readonly dialler: PluginDialler;
  readonly registrationClient: RegistrationClient;
  readonly mover: SocketMover;
  readonly decode: ListDecoder;
  readonly nextTurn: () => Promise<void>;
  /** Handlers of further types. */
  readonly handlers: readonly PluginHandler[];
  /** Makes a registration durable. */
  readonly persist: (instance: Instance) => Promise<boolean>;
  /** A new list counts. */
  readonly listApplied: (holding: Holding) => void;
  readonly isDeregistered: (socketKey: string) => boolean;
  /** Why no registration is taken now. */
  readonly closedBecause: () => Refusal | undefined;
  readonly restartSettled: (confirmed: number, total: number) => void;
}

/** The wired stages. */
export class Core {
  readonly roster: Roster;
  readonly inventory: Inventory;
  readonly reconciler: Reconciler;
  readonly lifecycle: Lifecycle;
  readonly enrolments: Enrolments;
  readonly restart: Restart;
  readonly registerDoor: RegisterDoor;
  readonly handlers: ReadonlyMap<string, PluginHandler>;
  /** Follows the registry directory. */
  readonly registrySockets: RegistrySockets;
  readonly #ports: CorePorts;

  constructor(ports: CorePorts) {
    this.#ports = ports;
    const { live, clock, random, log, metrics, events } = ports;
    const { timeouts } = live.settings;
    this.roster = new Roster(clock);
    const narration = new Narration(this.roster, events, log);
    this.inventory = new Inventory({
      decode: ports.decode,
      settings: () => live.admission,
      metrics,
      applied: (holding, before, duplicates) => {
        ports.listApplied(holding);
        narration.devicesChanged(holding, before, duplicates);
      },
      refused: (id, code, sentence) => narration.listRefused(id, code, sentence),
    });
    const device = new DevicePluginHandler({
      dialler: ports.dialler,
      lists: this.inventory,
      mover: ports.mover,
      endpointOf: (id) => this.#endpointOf(id),
      clock,
      random,
      nextTurn: ports.nextTurn,
      openPacer: ports.openPacer,
      settings: () => ({ timeouts, liveness: live.liveness }),
      count: (id, what, by) => {
        const instance = this.roster.get(id);
        if (instance === undefined) return;
        instance.counters[what] += by;
        if (what === 'coalesced') metrics.update(instance.name, 'coalesced', by);
      },
    });
    // The table of handlers: a further plugin type is a further row.
    this.handlers = new Map([device, ...ports.handlers].map((handler) => [handler.type, handler]));
    this.reconciler = new Reconciler({
      clock,
      random,
      log,
      backoff: () => ({ firstMs: live.settings.discovery.retryFirstMs, maxMs: live.settings.discovery.retryMaxMs }),
    });
    const admission = new Admission({
      flood: ports.flood,
      sockets: ports,
      roster: this.#admissionRoster(),
      policy: {
        get settings() {
          return live.admission;
        },
        paths: live.settings.paths,
        nameAllowed: (name) => live.nameAllowed(name),
        policyFor: (type, name, socket) => live.policyFor(type, name, socket),
      },
      clock,
      self: ports.self,
    });
    this.enrolments = new Enrolments({
      admit: (request, handler, signal) => admission.admit(request, handler, signal),
      handlers: this.handlers,
      roster: this.roster,
      lane: new KeyedLane(),
      persist: ports.persist,
      events,
      log,
      metrics,
      clock,
      whereIs: (request) => {
        const found = endpointPath(request, live.settings.paths);
        return typeof found === 'string' ? found : request.endpoint;
      },
      report: (id, report) => this.lifecycle.report(id, report),
      serving: (id) => this.lifecycle.serving(id),
      isAwaited: ({ id, socketKey }) => this.reconciler.has(id, socketKey),
    });
    const enrol: Enrolments['enrol'] = (request, signal) => this.enrolments.enrol(request, signal);
    this.restart = new Restart({
      roster: this.roster,
      reconciler: this.reconciler,
      enrol,
      clock,
      nextTurn: ports.nextTurn,
      settings: () => live.settings.restart,
      answers: (instance) => ports.answers(instance.endpointPath),
      keyAt: ports.keyAt,
      settled: ports.restartSettled,
    });
    this.roster.onChange(narration.changed);
    this.lifecycle = new Lifecycle({
      roster: this.roster,
      reconciler: this.reconciler,
      handlers: this.handlers,
      enrol,
      clock,
      policyFor: (type, name, socket) => live.policyFor(type, name, socket),
      dropLists: (id) => this.inventory.drop(id),
      isListening: (instance) => this.#isListening(instance),
      keyAt: ports.keyAt,
      lossDuringRestart: this.restart.lossDuringRestart,
    });
    this.registerDoor = new RegisterDoor({
      enrol,
      clock,
      budgetMs: () => timeouts.registerMs,
      closedBecause: ports.closedBecause,
    });
    const watcherDoor = new WatcherDoor({
      enrol,
      client: ports.registrationClient,
      clock,
      timeouts: () => timeouts,
      failed: ({ path }, refusal) => this.refusedAt(path, refusal),
      notifyPending: (id, isPending, message) => {
        const reason = isPending ? 'notify-pending' : 'registered';
        if (this.roster.get(id)?.state === 'ready') this.lifecycle.report(id, { state: 'ready', reason, message });
      },
    });
    const { roster, reconciler, lifecycle, handlers } = this;
    this.registrySockets = new RegistrySockets({ roster, reconciler, lifecycle, handlers, door: watcherDoor });
  }

  /** Tells of a registration socket of which nobody could say whose it is. */
  readonly refusedAt = (socket: string, { code, message }: Refusal): void => {
    const { events, log, metrics } = this.#ports;
    events.record({ type: 'refused', reason: code, socket, message });
    log.warn('registration.refused', message, { code, socket });
    metrics.registration('other', 'refused', code);
  };

  /** Resources as the node would report them. */
  resources(): Map<string, Resource> {
    return resourcesOf(this.inventory.all(), (id) => this.roster.get(id));
  }

  /** Closes what an operator names and keeps these incarnations out. Returns them. */
  closeAll(type: string, name: string): Instance[] {
    const closed = this.roster
      .ofPlugin(type, name)
      .filter((instance) => instance.state !== 'gone' && instance.state !== 'rejected');
    for (const instance of closed) this.lifecycle.close(instance, 'deregistered', 'was closed by an operator');
    return closed;
  }

  /** Stops working on wishes and closes sessions. The roster stays as it is, for those who look. */
  async stop(): Promise<void> {
    this.reconciler.stop();
    this.restart.stop();
    this.lifecycle.stop();
    for (const instance of [...this.roster.all()]) {
      await this.handlers
        .get(instance.type)
        ?.deregister(instance.id, 'broker-stopping')
        .catch(() => undefined);
    }
  }

  /** Lets all sockets go. */
  dispose(): void {
    for (const instance of [...this.roster.all()]) this.roster.remove(instance);
    this.registrySockets.dispose();
  }

  /** For asking an incumbent without a session. What a quarantine or its removed socket keeps out is no incumbent. */
  #endpointOf(id: string): PinnedSocket | undefined {
    const instance = this.roster.get(id);
    if (instance === undefined || instance.state === 'quarantined' || instance.reason === 'socket-removed') {
      return undefined;
    }
    return instance.enrolment?.endpoint.retain() ?? this.#pinAgain(instance);
  }

  #isListening(instance: Instance): boolean {
    const pinned = this.#pinAgain(instance);
    if (pinned === undefined) return false;
    const found = this.#ports.listenerOf(pinned);
    pinned.release();
    return 'uid' in found || found.error === 'EAGAIN';
  }

  /** The endpoint as it is at its path now, when it is the very incarnation that is known. Whoever asks releases it. */
  #pinAgain({ endpointPath: file, endpointKey }: Instance): PinnedSocket | undefined {
    // Most often it is not, because the file has gone: known without an exception for each.
    if (this.#ports.keyAt(file) !== endpointKey) return undefined;
    const pinned = this.#ports.pin(file);
    if ('problem' in pinned) return undefined;
    if (incarnationKey(pinned.incarnation) === endpointKey) return pinned;
    pinned.release();
    return undefined;
  }

  #admissionRoster(): ConstructorParameters<typeof Admission>[0]['roster'] {
    const { roster } = this;
    return {
      // One that restarts itself has let its name go, for whoever comes in its place.
      incumbent: (type, name) => {
        const primary = roster.primaryOf(type, name);
        return primary?.reason === 'settling' ? undefined : primary;
      },
      // Who calls knows its name; who is presumed under another one gives way when that call is accepted.
      claimant: ({ type, name, pulled }, key) =>
        roster.claimantsOf(type, key, name).find((one) => pulled || !one.isPresumed)?.name,
      isDeregistered: this.#ports.isDeregistered,
      get livePlugins() {
        return roster.livePlugins;
      },
      isKnown: (type, name) => roster.ofPlugin(type, name).some(isLive),
    };
  }
}
