// The daemon: everything of serve.ts that is not about the process. Opens parts in order, tells how it is, stops in reverse.
import { Persistence } from '../checkpoint/persistence.js';
import { StateLook } from '../checkpoint/state-look.js';
import { CheckpointStore } from '../checkpoint/store.js';
import { StoreState } from '../checkpoint/store-state.js';
import { FloodGate } from '../flood/flood-gate.js';
import { FrontNews } from '../front/front-news.js';
import type { RefusalSummary } from '../flood/refusal-summary.js';
import { sleep } from '../kernel/clock.js';
import type { Surroundings } from '../kernel/surroundings.js';
import { OrderlyEnd } from '../kernel/orderly-end.js';
import { StartBudget } from '../kernel/start-budget.js';
import type { StopBudgets } from '../kernel/stop-budgets.js';
import type { LiveConfig } from '../config/live-config.js';
import type { AdminPort } from '../admin/admin-port.js';
import { OperatorCommands } from '../admin/operator-commands.js';
import { Standing } from '../admin/standing.js';
import { Conditions } from '../journal/conditions.js';
import { LifeNews } from '../journal/life-news.js';
import type { Journal } from '../journal/journal.js';
import { RefusedAgain } from '../journal/refused-again.js';
import { Inventory } from '../inventory/inventory.js';
import { strangerUserOf } from '../model/instance.js';
import type { UserOf } from '../model/ids.js';
import type { NamesMove } from '../model/plugin.js';
import type { BrokerView, ReloadView } from '../model/views.js';
import type { DocumentFile, ListFiles } from '../checkpoint/ports.js';
import type { CheckpointDocument } from '../checkpoint/document.js';
import type { OpenLimiter } from '../flood/limiter.js';
import type { RestartListener, RestartOutcome } from '../reconcile/restart.js';
import type { HttpClients } from '../platform/http/health-server.js';
import { movableNames } from '../platform/fs/name-movers.js';
import { wipePlugins } from '../platform/fs/plugin-sockets.js';
import { FrontedBefore } from '../platform/kubelet/fronted-before.js';
import { KUBELET_SOCKET } from '../platform/listeners/socket-listeners.js';
import { processorShare } from '../platform/process/processor-share.js';
import { countHealthy, decodeList, partsOf } from '../platform/wire/list-decoder.js';
import { Roster } from '../reconcile/roster.js';
import { wipesSockets } from '../reconcile/wiping.js';
import { resourceUse } from '../admin/device-holders.js';
import type { Drivers } from './drivers.js';
import { Leases } from './leases.js';
import { cdiFiles } from './cdi.js';
import { Broker, type BrokerParts } from './broker.js';
import { FrontLine, kubeletOwners } from './front-line.js';
import { subscribe } from './subscriptions.js';

/** The parts of the daemon. */
export interface DaemonParts extends Surroundings {
  readonly version: string;
  readonly live: LiveConfig;
  readonly self: { readonly uid: number; readonly pid: number };
  /** The uids that count as one user; `look` reads the files again if they have changed. */
  readonly users: { readonly of: UserOf; readonly look: () => void };
  readonly namesMove: NamesMove;
  readonly bootId: string;
  /** Milliseconds since the machine started: `uptimeMs` (platform/time/boot). */
  readonly bootMs: () => number;
  readonly journal: Journal;
  readonly openLimiter: OpenLimiter;
  readonly file: DocumentFile<CheckpointDocument>;
  readonly lists: ListFiles;
  readonly peers: BrokerParts['peers'];
  readonly paths: BrokerParts['paths'];
  readonly drivers: Drivers;
  readonly countConnection: BrokerParts['countConnection'];
  readonly guarding: BrokerParts['guarding'];
  readonly reads: BrokerParts['reads'];
  /** The log of refusals, which tells like refusals once. Closed with the daemon. */
  readonly refusals: RefusalSummary;
  /** The phase changed, or the degraded areas: `serve` (serve.ts) passes it to `tellSystemd` (platform/systemd/notifier). */
  readonly phaseChanged: (view: BrokerView) => void;
  readonly interpose?: BrokerParts['interpose'];
}

/** A running broker with its store, policy and state. */
export class Daemon implements RestartListener {
  readonly broker: Broker;
  readonly flood: FloodGate;
  readonly store: CheckpointStore;
  readonly stateLook: StateLook;
  /** Towards the kubelet, where `front.enabled`. */
  readonly frontLine: FrontLine | undefined;
  readonly leases: Leases;
  /** The present conditions of the broker itself. */
  readonly conditions: Conditions;
  /** How the broker itself is. */
  readonly standing: Standing<Conditions['areas'][number]>;
  /** The questions and orders of operators. */
  readonly port: AdminPort;
  readonly journal: Journal;
  /** The users who connect over HTTP. */
  readonly clients: HttpClients;
  /** Reads the config file again; set once everything is open. */
  reload: (() => Promise<ReloadView>) | undefined;
  readonly #parts: DaemonParts;
  readonly #persistence: Persistence;
  readonly #storeState: StoreState;
  readonly #refusals: RefusalSummary;
  readonly #refusedAgain: RefusedAgain;
  readonly #news: LifeNews;
  readonly #startBudget: StartBudget;
  readonly #filesBudget: StartBudget; // of CDI files, which are put in their place a little later
  /** The resources that pods were offered before this life. */
  readonly #before: FrontedBefore;
  #starting: Promise<void> | undefined;

  constructor(parts: DaemonParts) {
    const { live, clock, random, log, metrics, journal, bootId, version, openLimiter, bootMs, namesMove } = parts;
    const { pid, uid: ownUid } = parts.self;
    const own = { ownUid, userOf: parts.users.of };
    this.#parts = parts;
    this.clients = { ...own, peers: parts.peers };
    this.#startBudget = new StartBudget(clock);
    this.#filesBudget = new StartBudget(clock);
    const { leftMs } = this.#startBudget;
    this.journal = journal;
    this.#news = new LifeNews({ log, journal, clock, version, pid });
    this.#refusals = parts.refusals;
    this.#refusedAgain = new RefusedAgain(journal, clock, own);
    this.conditions = new Conditions(log, journal, () => this.#told());
    const roster = new Roster(clock, own, (message) => log.error('broker.bug', message));
    const inventory = new Inventory({
      decode: decodeList,
      ...{ live, metrics },
      strangerOf: (id) => strangerUserOf(roster.get(id), own),
    });
    this.#storeState = new StoreState((why) => this.conditions.set('checkpoint', why));
    this.store = new CheckpointStore({
      ...{ file: parts.file, lists: parts.lists },
      folder: live.current.settings.paths.state,
      settings: live.current.settings.checkpoint,
      ...{ leftMs, inventory, journal, bootId, clock, random, events: journal, log, metrics },
      onStateChange: this.#storeState.is,
    });
    this.stateLook = new StateLook({ store: this.store, log, events: journal });
    const crowded = (why: string | undefined): void => this.conditions.set('connections', why);
    this.flood = new FloodGate(live, {
      ...{ openLimiter, clock, events: journal, metrics, log, bootMs, namesMove, crowded },
      ...{ ...own, processorShare: processorShare() },
    });
    const { store, flood } = this;
    live.onChange(() => flood.reload(live));
    this.#persistence = new Persistence({ store, roster, lists: inventory, flood, clock, countHealthy });
    this.broker = new Broker({
      ...parts,
      log: this.#refusals,
      events: this.#refusedAgain,
      ...{ roster, inventory, flood, connections: flood.connections },
      store: this.#persistence,
      handlers: parts.drivers.handlers,
      restartListener: this,
      degraded: (what, why) => this.conditions.set(what, why),
      userOf: parts.users.of,
      rescanned: () => {
        this.stateLook.look();
        parts.users.look();
        if (this.#before.look()) this.leases.consumers.reloaded();
      },
    });
    const news = new FrontNews(journal, log);
    this.#before = new FrontedBefore(live.current.settings.front.kubeletDir);
    const owners = kubeletOwners(parts, news, this.#before);
    this.leases = new Leases({
      ...parts,
      ...{ ...own, store, flood },
      pods: owners ?? this.#before,
      cdi: cdiFiles({ ...parts, ...own, leftMs: this.#filesBudget.leftMs, settings: live.current.settings }, (why) =>
        this.conditions.set('cdi', why),
      ),
      events: journal,
      broker: this.broker,
      degraded: (why) => this.conditions.set('alloc.sock', why),
    });
    live.onChange(this.leases.changes.reloaded);
    const { core } = this.broker;
    const { leases } = this;
    if (owners !== undefined) this.frontLine = new FrontLine({ ...parts, ...own, core, news, owners, leases });
    const { allocations, consumers } = leases;
    const use = resourceUse({ leases: allocations, consumers, kubelet: this.frontLine });
    this.standing = new Standing({
      ...{ version, pid, bootId, clock, conditions: this.conditions, restart: core.restart },
      ...{ policy: live, checkpoint: store, ledger: () => leases.view, refused: this.#refusedAgain },
    });
    this.port = new OperatorCommands({
      known: core,
      partsOf,
      actions: core.operatorActions,
      checkpoint: this.#persistence,
      leases: allocations.keeper,
      events: journal,
      ...{ flood, clock, use },
      reload: async () => this.reload?.(),
      head: () => this.standing.head(),
    });
    subscribe({
      ...{ core, flood, leases, storeState: this.#storeState, persistence: this.#persistence },
      front: this.frontLine?.front,
    });
  }

  /**
   * Opens everything: the plugins of the checkpoint are served before any plugin is dialled. A disk that hangs keeps kubelet.sock
   * waiting for `restart.deadline` at most.
   *
   * @param spentMs milliseconds of it that the disk took before, for the lock
   * @throws PathTaken when a path is not ours
   */
  start(spentMs = 0): Promise<void> {
    this.#starting = this.#start(spentMs);
    return this.#starting;
  }

  async #start(spentMs: number): Promise<void> {
    const { live, clock, log, journal } = this.#parts;
    const { paths, restart, front } = live.current.settings;
    for (const budget of [this.#startBudget, this.#filesBudget]) budget.begin(restart.deadlineMs, spentMs);
    const opened = await this.store.open();
    await journal.open(opened.eventSeq, this.#startBudget.leftMs);
    await this.#before.read(front.enabled ? undefined : clock); // while no socket of this life is among them
    const { core } = this.broker;
    await this.#persistence.restore(clock.wall());
    await this.leases.restore(opened);
    this.#parts.drivers.restore(core);
    const over = this.#persistence.restorePenalties(!opened.rebooted);
    this.standing.isRestored = true;
    // A broker that serves this root already is found by its kubelet.sock, before its broker.sock is replaced.
    await this.broker.bind();
    await this.broker.serveOperators(this.port, () => this.standing.view().phase);
    // As soon as it can be: every millisecond of ours without it the kubelet has no devices of ours.
    this.frontLine?.open();
    if (wipesSockets(restart.wipeSockets, opened.view.state))
      wipePlugins(paths.devicePlugins, new Set([KUBELET_SOCKET]), log, journal);
    for (const directory of [paths.devicePlugins, paths.pluginsRegistry]) this.#news.movable(movableNames(directory));
    this.#storeState.is(this.store.view(), this.store.listsProblem);
    await this.broker.publish();
    this.#startBudget.end();
    const placeFiles = (): Promise<void> =>
      this.leases.allocations.keeper.placeFiles().finally(() => this.#filesBudget.end());
    const podResources = this.broker.servePodResources(this.leases.allocations, this.frontLine);
    await Promise.all([podResources, this.broker.open(placeFiles)]);
    await this.frontLine?.owners.asked(); // else devices are given in leases that pods have from a plugin itself
    await this.leases.open();
    for (const quarantine of over) core.quarantineResponse.quarantineEnded(quarantine);
    this.#news.started(paths.root, opened.rebooted, core.restart.restored);
    this.#told();
    await journal.restore();
  }

  /**
   * Stops accepting, finishes calls, writes everything, once a start that goes on is over. broker.sock answers until
   * `Broker.closeOperators`, which `Stopping.leave` (platform/process/stopping) calls. A part that does not end in order does not
   * keep the others from it.
   *
   * @param budgets the time of each step
   * @throws Error naming the parts that did not end, which is logged, too
   */
  async stop(why: string, budgets: StopBudgets): Promise<void> {
    if (this.standing.isStopping) return;
    this.standing.isStopping = true;
    const { clock } = this.#parts;
    this.#told();
    if (this.#starting === undefined) return; // nothing was read, so that nothing may be written
    this.#news.stopping(why);
    await this.#starting.catch(() => undefined); // its caller has the error
    const ends = new OrderlyEnd(clock);
    const sockets = ends.of('its sockets', () => this.broker.stop(budgets.callsMs), budgets.doorMs());
    await Promise.all([sockets, ends.of('the allocator', () => this.leases.stop(budgets.callsMs), budgets.doorMs())]);
    const strikes = this.#persistence.writePenalties();
    const written = (): unknown => Promise.race([strikes, sleep(clock, budgets.flushMs())]);
    await ends.of('writing strikes', written, budgets.endMs());
    await ends.of('writing the checkpoint', () => this.store.flush(budgets.flushMs()), budgets.endMs());
    await ends.of('writing events', () => this.journal.close(budgets.eventsMs()), budgets.endMs());
    // Connections closed from here on are no fact about plugins: the checkpoint keeps its state.
    this.store.close();
    await ends.of('the way to the kubelet', () => this.frontLine?.close(budgets.callsMs()), budgets.doorMs());
    await ends.of('the handlers of drivers', () => this.#parts.drivers.stop(), budgets.endMs());
    await ends.of('its sessions', () => this.broker.closeSessions(), budgets.endMs());
    this.flood.close();
    this.#refusals.close();
    if (ends.left === undefined) return;
    const message = `the broker could not end in order, and ends with 1: ${ends.left}`;
    this.#parts.log.error('broker.unclean-end', message);
    throw new Error(message);
  }

  /** The checkpoint's plugins are confirmed, or the deadline has passed: readiness follows. */
  settled({ confirmed, settling, total }: RestartOutcome): void {
    this.#parts.metrics.restored(this.#news.seconds);
    this.#parts.drivers.settle();
    this.leases.allocations.keeper.settled();
    this.#news.restored(confirmed, settling, total);
    this.#told();
  }

  #told(): void {
    this.#parts.phaseChanged(this.standing.view());
    this.broker.phaseChanged();
  }
}
