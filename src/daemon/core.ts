// Wires the stages on the way of a registration: doors → enrolment → admission → handler → roster. Everything that touches disk,
// sockets or packages is handed in. The listeners of changes are in subscriptions.ts.
import { Admission } from '../admission/admission.js';
import type { AdmissionPolicy } from '../admission/ports.js';
import type { Surroundings } from '../kernel/surroundings.js';
import type { Inventory } from '../inventory/inventory.js';
import { OfferedResources } from '../inventory/offered.js';
import { EventRecorder } from '../journal/event-recorder.js';
import type { DevicePlugins } from '../model/device-use.js';
import type { EventSink } from '../model/event.js';
import type { ListPacing, RegistrationLimits } from '../model/flood.js';
import type { UserOf } from '../model/ids.js';
import type { NamesMove, PluginHandler } from '../model/plugin.js';
import type { RegistrationStore } from '../model/registration.js';
import type { LivenessSettings, Settings } from '../model/settings.js';
import { Claims } from '../reconcile/claims.js';
import { Endings } from '../reconcile/endings.js';
import { Endpoints } from '../reconcile/endpoints.js';
import { Enrolments } from '../reconcile/enrolment.js';
import { Lifecycle } from '../reconcile/lifecycle.js';
import { OperatorActions } from '../reconcile/operator-actions.js';
import { QuarantineResponse } from '../reconcile/quarantine-response.js';
import { Reconciler } from '../reconcile/reconciler.js';
import { RegistrationLane } from '../reconcile/registration-lane.js';
import { RegistrySockets } from '../reconcile/registry-sockets.js';
import { Reports } from '../reconcile/reports.js';
import { Restart, type RestartListener } from '../reconcile/restart.js';
import type { Roster } from '../reconcile/roster.js';
import { Settling } from '../reconcile/settling.js';
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
  readonly namesMove: NamesMove;
  readonly events: EventSink;
  readonly roster: Roster;
  readonly inventory: Inventory;
  readonly flood: RegistrationLimits & ListPacing;
  readonly store: RegistrationStore;
  /** Handlers of further types. */
  readonly handlers: readonly PluginHandler[];
  readonly restartListener: RestartListener;
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
  /** Takes the reports of handlers about instances. */
  readonly reports: Reports;
  readonly lifecycle: Lifecycle;
  /** The plugins that are given time to register afresh. */
  readonly settling: Settling;
  readonly restart: Restart;
  readonly quarantineResponse: QuarantineResponse;
  readonly operatorActions: OperatorActions;
  readonly registerDoor: RegisterDoor;
  /** Interprets sockets that appear in the registry directory, and go. */
  readonly registrySockets: RegistrySockets;

  constructor(ports: CorePorts) {
    const { live, clock, random, log, metrics, events, roster, inventory, flood, store, sockets, self } = ports;
    const { userOf, nextTurn, kept } = ports;
    const own = { ownUid: self.uid, userOf };
    const { timeouts, discovery, restart } = live.settings;
    this.roster = roster;
    this.inventory = inventory;
    this.offered = new OfferedResources(inventory, roster);
    this.recorder = new EventRecorder({ roster, events, log, metrics, ...own });
    const endpoints = new Endpoints(sockets, roster);
    const device = new DevicePluginHandler({
      ...{ clock, random, nextTurn, live, endpoints },
      dialler: ports.dialler,
      lists: inventory,
      remover: kept,
      pacing: flood,
      recorder: this.recorder,
    });
    this.devicePlugins = device;
    // The table of handlers: a further plugin type is a further row.
    const handlers = new Map([device, ...ports.handlers].map((handler) => [handler.type, handler]));
    this.handlers = handlers;
    const backoff = { firstMs: discovery.retryFirstMs, maxMs: discovery.retryMaxMs };
    const reconciler = new Reconciler({ clock, random, log, backoff });
    this.reconciler = reconciler;
    this.settling = new Settling({ roster, clock, settings: restart, kept });
    const endings = new Endings({ roster, reconciler, handlers, lists: inventory, endpoints });
    const reports = new Reports({ roster, handlers, endings, endpoints, sockets, settling: this.settling });
    this.reports = reports;
    const claims = new Claims(roster, store, userOf);
    const admission = new Admission({ flood, sockets, roster: claims, policy: live, clock, self });
    const enrolments = new Enrolments({
      ...{ admission, handlers, roster, store, events, log, metrics, clock, reports, reconciler },
      lane: new RegistrationLane(own),
    });
    this.enrolments = enrolments;
    const lifecycle = new Lifecycle({
      ...{ roster, reconciler, handlers, enrolments, clock, endpoints, sockets, reports, endings, ...own },
      namesMove: ports.namesMove,
      policies: live,
      lists: inventory,
    });
    this.lifecycle = lifecycle;
    this.restart = new Restart({
      ...{ roster, reconciler, enrolments, clock, nextTurn, sockets, lifecycle, ...own },
      settings: restart,
      settling: this.settling,
      listener: ports.restartListener,
    });
    this.quarantineResponse = new QuarantineResponse({
      ...{ roster, reconciler, lifecycle, reports, endings, enrolments, ...own },
    });
    this.operatorActions = new OperatorActions(roster, endings);
    this.registerDoor = new RegisterDoor({ enrolments, clock, timeouts });
    const door = new WatcherDoor({
      ...{ enrolments, clock, timeouts },
      turns: new AskingTurns(clock, self.uid),
      client: ports.registrationClient,
      recorder: this.recorder,
      notices: reports,
    });
    this.registrySockets = new RegistrySockets({ roster, reconciler, reports, endings, handlers, door });
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
