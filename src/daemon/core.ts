// Wires the stages on the way of a registration: doors → enrolment → admission → handler → roster. Everything that touches disk,
// sockets or packages is handed in. The listeners of changes are in subscriptions.ts.
import { Admission } from '../admission/admission.js';
import { endpointPathOrText } from '../admission/endpoint.js';
import type { AdmissionPolicy } from '../admission/ports.js';
import type { Surroundings } from '../kernel/surroundings.js';
import { KeyedLane } from '../kernel/keyed-lane.js';
import type { Inventory } from '../inventory/inventory.js';
import { OfferedResources } from '../inventory/offered.js';
import { EventRecorder } from '../journal/event-recorder.js';
import type { DevicePlugins } from '../model/device-use.js';
import type { EventSink } from '../model/event.js';
import type { ListPacing, RegistrationLimits } from '../model/flood.js';
import type { UserOf } from '../model/ids.js';
import type { PluginHandler } from '../model/plugin.js';
import type { RegistrationStore } from '../model/registration.js';
import type { LivenessSettings, Settings } from '../model/settings.js';
import { Claims } from '../reconcile/claims.js';
import { Endpoints } from '../reconcile/endpoints.js';
import { Enrolments } from '../reconcile/enrolment.js';
import { Lifecycle } from '../reconcile/lifecycle.js';
import { Notices } from '../reconcile/notices.js';
import { OperatorActions } from '../reconcile/operator-actions.js';
import { QuarantineResponse } from '../reconcile/quarantine-response.js';
import { Reconciler } from '../reconcile/reconciler.js';
import { RegistrySockets } from '../reconcile/registry-sockets.js';
import { Restart, type RestartPorts } from '../reconcile/restart.js';
import type { Roster } from '../reconcile/roster.js';
import { AskingTurns } from '../registration/asking-turns.js';
import { RegisterDoor } from '../registration/register-door.js';
import { WatcherDoor } from '../registration/watcher-door.js';
import { DevicePluginHandler } from '../session/device-plugin-handler.js';
import type { PluginSide } from '../platform/peer/plugin-side.js';

/** Settings that are read again at each decision, because they can be reloaded. */
export interface LiveSettings extends AdmissionPolicy {
  readonly settings: Settings;
  readonly liveness: LivenessSettings;
}

/** The parts of the core. */
export interface CorePorts extends PluginSide, Surroundings {
  readonly live: LiveSettings;
  /** The broker's own process, so that it never dials itself. */
  readonly self: { readonly uid: number; readonly pid: number };
  /** The uids that count as one user where something is shared. */
  readonly userOf: UserOf;
  readonly events: EventSink;
  readonly roster: Roster;
  readonly inventory: Inventory;
  readonly flood: RegistrationLimits & ListPacing;
  readonly store: RegistrationStore;
  /** Handlers of further types. */
  readonly handlers: readonly PluginHandler[];
  readonly restartSettled: RestartPorts['settled'];
}

/** The wired stages. */
export class Core {
  readonly roster: Roster;
  readonly inventory: Inventory;
  /** The offers of plugins: resources as the node would report them. */
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
  /** Interprets sockets that appear in the registry directory, and go. */
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
      pacing: flood,
      settings: () => ({ timeouts, liveness: live.liveness }),
      recorder: this.recorder,
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
      roster: new Claims(roster, store, ports.userOf),
      policy: live,
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
      reconciler,
      // It needs the enrolments for its pulls, so that it is made after them.
      lifecycle: {
        report: (id, report) => this.lifecycle.report(id, report),
        serving: (id) => this.lifecycle.serving(id),
      },
    });
    const { enrolments } = this;
    this.restart = new Restart({
      roster,
      reconciler,
      enrolments,
      clock,
      nextTurn: ports.nextTurn,
      settings: live.settings.restart,
      sockets,
      settled: ports.restartSettled,
      kept: ports.kept,
    });
    const lifecycle = new Lifecycle({
      roster,
      reconciler,
      handlers,
      enrolments,
      clock,
      self: ports.self,
      userOf: ports.userOf,
      policies: live,
      lists: inventory,
      endpoints,
      sockets,
      settling: this.restart.settling,
    });
    this.lifecycle = lifecycle;
    this.quarantineResponse = new QuarantineResponse({ roster, reconciler, lifecycle, handlers, enrolments });
    this.operatorActions = new OperatorActions(roster, lifecycle);
    this.registerDoor = new RegisterDoor({ enrolments, clock, timeouts });
    const door = new WatcherDoor({
      turns: new AskingTurns(clock, ports.self.uid, ports.userOf),
      enrolments,
      client: ports.registrationClient,
      clock,
      timeouts,
      recorder: this.recorder,
      notices: new Notices(roster, lifecycle),
    });
    this.registrySockets = new RegistrySockets({ roster, reconciler, lifecycle, handlers, door });
  }

  /** Stops working on pending registrations and closes sessions. The roster stays as it is, for views. */
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
