// Wires the stages on the way of a registration: doors → enrolment → admission → handler → roster. Everything that touches
// disk, sockets or packages is handed in. Who hears of changes is in subscriptions.ts.
import { Admission } from '../admission/admission.js';
import { endpointPathOrText } from '../admission/endpoint.js';
import type { Surroundings } from '../kernel/surroundings.js';
import { FairSlots } from '../kernel/fair-slots.js';
import { KeyedLane } from '../kernel/keyed-lane.js';
import type { Inventory } from '../inventory/inventory.js';
import { OfferedResources } from '../inventory/offered.js';
import type { Resource } from '../inventory/resources.js';
import { EventRecorder } from '../journal/event-recorder.js';
import type { DevicePlugins } from '../model/device-use.js';
import type { EventSink } from '../model/event.js';
import type { ListPacing, RegistrationLimits } from '../model/flood.js';
import type { PluginHandler } from '../model/plugin.js';
import type { RegistrationStore } from '../model/registration.js';
import type { AdmissionSettings, LivenessSettings, PluginPolicy, Settings } from '../model/settings.js';
import { Claims } from '../reconcile/claims.js';
import { Endpoints } from '../reconcile/endpoints.js';
import { Enrolments } from '../reconcile/enrolment.js';
import { Lifecycle } from '../reconcile/lifecycle.js';
import { OperatorActions } from '../reconcile/operator-actions.js';
import { QuarantineResponse } from '../reconcile/quarantine-response.js';
import { Reconciler } from '../reconcile/reconciler.js';
import { pendingNotices, RegistrySockets } from '../reconcile/registry-sockets.js';
import { Restart, type RestartPorts } from '../reconcile/restart.js';
import type { Roster } from '../reconcile/roster.js';
import { RegisterDoor } from '../registration/register-door.js';
import { WatcherDoor } from '../registration/watcher-door.js';
import { DevicePluginHandler } from '../session/device-plugin-handler.js';
import type { PluginSide } from '../platform/peer/plugin-side.js';

/** What is read again at each decision, because it can be reloaded. */
export interface LiveSettings {
  readonly settings: Settings;
  readonly admission: AdmissionSettings;
  readonly liveness: LivenessSettings;
  nameAllowed(name: string): boolean;
  policyFor(type: string, name: string, socket: string): PluginPolicy;
}

/** What the core is made of. */
export interface CorePorts extends PluginSide, Surroundings {
  readonly live: LiveSettings;
  /** The broker's own process, so that it never dials itself. */
  readonly self: { readonly uid: number; readonly pid: number };
  readonly events: EventSink;
  readonly roster: Roster;
  readonly inventory: Inventory;
  readonly flood: RegistrationLimits & ListPacing;
  readonly store: RegistrationStore;
  /** Handlers of further types. */
  readonly handlers: readonly PluginHandler[];
  readonly restartSettled: RestartPorts['settled'];
}

/**
 * Registration sockets that are asked who they are at one time: those of root and of the broker, those of one uid beside
 * them, and those of all others. Each takes descriptors, and a dead or hanging one takes time.
 */
const ASKED_AT_ONCE = { trusted: 256, other: 16, others: 64 };
/** An attempt that was in vain counts as one for so long, so that those of a directory full of dead sockets have a pace. */
const IN_VAIN_MS = 400;

/** The wired stages. */
export class Core {
  readonly roster: Roster;
  readonly inventory: Inventory;
  /** What plugins offer. */
  readonly offered: OfferedResources;
  readonly recorder: EventRecorder;
  readonly handlers: ReadonlyMap<string, PluginHandler>;
  /** The handler of device plugins, for calls about using devices. */
  readonly devicePlugins: DevicePlugins;
  readonly reconciler: Reconciler;
  readonly enrolments: Enrolments;
  readonly lifecycle: Lifecycle;
  readonly restart: Restart;
  readonly quarantineResponse: QuarantineResponse;
  readonly operatorActions: OperatorActions;
  readonly registerDoor: RegisterDoor;
  /** Follows the registry directory. */
  readonly registrySockets: RegistrySockets;

  constructor(ports: CorePorts) {
    const { live, clock, random, log, metrics, events, roster, inventory, flood, store, sockets } = ports;
    const { timeouts, discovery, paths } = live.settings;
    this.roster = roster;
    this.inventory = inventory;
    this.offered = new OfferedResources(inventory, roster);
    this.recorder = new EventRecorder({ roster, events, log, metrics });
    const endpoints = new Endpoints(sockets);
    const device = new DevicePluginHandler({
      dialler: ports.dialler,
      lists: inventory,
      remover: ports.kept,
      endpointOf: (id) => endpoints.forAsking(roster.get(id)),
      clock,
      random,
      nextTurn: ports.nextTurn,
      openPacer: (enrolment) => flood.openPacer(enrolment),
      settings: () => ({ timeouts, liveness: live.liveness }),
      count: (id, what, by) => this.recorder.counted(id, what, by),
    });
    this.devicePlugins = device;
    // The table of handlers: a further plugin type is a further row.
    const handlers = new Map([device, ...ports.handlers].map((handler) => [handler.type, handler]));
    this.handlers = handlers;
    const reconciler = new Reconciler({
      clock,
      random,
      log,
      backoff: () => ({ firstMs: discovery.retryFirstMs, maxMs: discovery.retryMaxMs }),
    });
    this.reconciler = reconciler;
    const admission = new Admission({
      flood,
      sockets,
      roster: new Claims(roster, store),
      policy: {
        get settings() {
          return live.admission;
        },
        paths,
        nameAllowed: (name) => live.nameAllowed(name),
        policyFor: (type, name, socket) => live.policyFor(type, name, socket),
      },
      clock,
      self: ports.self,
    });
    this.enrolments = new Enrolments({
      admission,
      handlers,
      roster,
      lane: new KeyedLane(),
      store,
      events,
      log,
      metrics,
      clock,
      whereIs: (request) => endpointPathOrText(request, paths),
      // Lifecycle needs the enrolments for its pulls, so that it is made after them.
      report: (id, report) => this.lifecycle.report(id, report),
      serving: (id) => this.lifecycle.serving(id),
      isAwaited: ({ id, socketKey }) => reconciler.has(id, socketKey),
    });
    const { enrol } = this.enrolments;
    this.restart = new Restart({
      roster,
      reconciler,
      enrol,
      clock,
      nextTurn: ports.nextTurn,
      settings: () => live.settings.restart,
      answers: (instance) => sockets.answers(instance.endpointPath),
      keyAt: (path) => sockets.keyAt(path),
      settled: ports.restartSettled,
      report: (id, report) => this.lifecycle.report(id, report),
      kept: ports.kept,
    });
    const lifecycle = new Lifecycle({
      roster,
      reconciler,
      handlers,
      enrol,
      clock,
      policyFor: (type, name, socket) => live.policyFor(type, name, socket),
      dropLists: (id) => inventory.drop(id),
      isListening: endpoints.isListening,
      keyAt: (path) => sockets.keyAt(path),
      lossOf: this.restart.settling.lossOf,
    });
    this.lifecycle = lifecycle;
    this.quarantineResponse = new QuarantineResponse({ roster, reconciler, lifecycle, handlers, enrol });
    this.operatorActions = new OperatorActions(roster, lifecycle);
    this.registerDoor = new RegisterDoor({
      enrol,
      clock,
      budgetMs: () => timeouts.registerMs,
      refused: (request, refusal) => this.enrolments.refuse(request, refusal),
    });
    const { self } = ports;
    const isTrusted = (uid: number): boolean => uid === 0 || uid === self.uid;
    const slots = new FairSlots({ ...ASKED_AT_ONCE, isTrusted });
    const door = new WatcherDoor({
      turn: async ({ uid }, signal) => {
        const leave = await slots.take(uid, signal);
        return (inVain) => {
          if (inVain && !isTrusted(uid)) clock.alarm(IN_VAIN_MS, leave);
          else leave();
        };
      },
      isCrowded: ({ uid }) => slots.waiting(uid) > 0,
      enrol,
      client: ports.registrationClient,
      clock,
      timeouts: () => timeouts,
      failed: ({ path }, refusal) => this.recorder.refusedAt(path, refusal),
      isRegistered: (id) => roster.isConnected(id),
      notifyPending: pendingNotices(roster, lifecycle),
    });
    this.registrySockets = new RegistrySockets({ roster, reconciler, lifecycle, handlers, door });
  }

  /** Resources as the node would report them. */
  resources(): Map<string, Resource> {
    return this.offered.all();
  }

  /** Stops working on pending registrations and closes sessions. The roster stays as it is, for those who look. */
  async stop(): Promise<void> {
    this.reconciler.stop();
    this.restart.stop();
    await this.lifecycle.stop();
  }

  /** Lets all sockets go. */
  dispose(): void {
    for (const instance of [...this.roster.all()]) this.roster.remove(instance);
    this.registrySockets.dispose();
  }
}
