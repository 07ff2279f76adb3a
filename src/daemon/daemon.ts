// The daemon: everything of serve.ts that is not about the process. Opens parts in order, tells how it is, stops in reverse.
import { Persistence } from '../checkpoint/persistence.js';
import { CheckpointStore } from '../checkpoint/store.js';
import { FloodGate } from '../flood/flood-gate.js';
import type { RefusalSummary } from '../flood/refusal-summary.js';
import { sleep, type Clock } from '../kernel/clock.js';
import type { Log } from '../kernel/log.js';
import type { Metrics } from '../kernel/metrics.js';
import type { Random } from '../kernel/random.js';
import type { LiveConfig } from '../config/live-config.js';
import type { AdminPort } from '../admin/admin-port.js';
import { Conditions } from '../journal/conditions.js';
import type { Journal } from '../journal/journal.js';
import { RefusedAgain } from '../journal/refused-again.js';
import { Inventory } from '../inventory/inventory.js';
import { strangerOf } from '../model/instance.js';
import { timeText, type BrokerView, type ReloadView, type StatusView } from '../model/views.js';
import type { DocumentFile, ListFiles } from '../checkpoint/ports.js';
import type { CheckpointDocument } from '../checkpoint/document.js';
import type { OpenLimiter } from '../flood/limiter.js';
import type { RestartOutcome } from '../reconcile/restart.js';
import { countHealthy, decodeList } from '../platform/wire/list-decoder.js';
import { Roster } from '../reconcile/roster.js';
import { adminPort } from './admin.js';
import type { Drivers } from './drivers.js';
import { Leases } from './leases.js';
import { cdiFiles } from './cdi.js';
import { Broker, type BrokerParts } from './broker.js';
import { FrontLine, resourceUse } from './front-line.js';
import { StateLook } from './state-look.js';
import { subscribe } from './subscriptions.js';
import { WayOut } from './way-out.js';
import { wipePlugins } from './wipe.js';

/** How often a broker that is being replaced looks whether it is. */
const LINGER_LOOK_MS = 5;

/** What the daemon is made of. */
export interface DaemonParts {
  readonly version: string;
  readonly live: LiveConfig;
  readonly self: { readonly uid: number; readonly pid: number };
  readonly bootId: string;
  /** Milliseconds since the machine started. */
  readonly bootMs: () => number;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly journal: Journal;
  readonly openLimiter: OpenLimiter;
  readonly file: DocumentFile<CheckpointDocument>;
  readonly lists: ListFiles;
  readonly peers: BrokerParts['peers'];
  readonly drivers: Drivers;
  readonly countConnection: BrokerParts['countConnection'];
  readonly guarding: BrokerParts['guarding'];
  /** The log of what is refused, which tells like refusals once. Closed with the daemon. */
  readonly refusals: RefusalSummary;
  /** The phase changed, or what is degraded: for systemd and logs. */
  readonly phaseChanged: (view: BrokerView) => void;
  /** Disturbs plugins and tells about them, for `verify` alone. */
  readonly faults: BrokerParts['faults'];
}

/** A running broker with its store, policy and state. */
export class Daemon {
  readonly broker: Broker;
  readonly flood: FloodGate;
  readonly store: CheckpointStore;
  readonly stateLook: StateLook;
  /** Towards the kubelet, where `front.enabled`. */
  readonly front: FrontLine | undefined;
  readonly leases: Leases;
  /** What is wrong now with the broker itself. */
  readonly conditions: Conditions;
  /** What operators ask and order. */
  readonly port: AdminPort;
  readonly journal: Journal;
  /** Reads the config file again; set once everything is open. */
  reload: (() => Promise<ReloadView>) | undefined;
  readonly #parts: DaemonParts;
  readonly #persistence: Persistence;
  readonly #refusals: RefusalSummary;
  readonly #refusedAgain: RefusedAgain;
  readonly #startedAt: number;
  readonly #startedMono: number;
  #starting: Promise<void> | undefined;
  #isStopping = false;
  #wayOut: WayOut | undefined;
  #isRestored = false;

  constructor(parts: DaemonParts) {
    const { live, clock, random, log, metrics, journal, bootId, faults } = parts;
    this.#parts = parts;
    this.journal = journal;
    this.#startedAt = clock.wall();
    this.#startedMono = clock.mono();
    this.#refusals = parts.refusals;
    this.#refusedAgain = new RefusedAgain(journal, clock);
    this.conditions = new Conditions(log, journal, () => this.#told());
    const roster = new Roster(clock, (message) => log.error('broker.bug', message));
    const whose = (id: string): number | undefined => strangerOf(roster.get(id), parts.self.uid);
    const inventory = new Inventory({ decode: decodeList, settings: () => live.admission, metrics, strangerOf: whose });
    this.store = new CheckpointStore({
      file: parts.file,
      lists: parts.lists,
      newestList: (key) => inventory.holding(key),
      settings: live.current.settings.checkpoint,
      eventSeq: () => journal.seq,
      ...{ bootId, clock, random, events: journal, log, metrics },
      onStateChange: () => this.#storeChanged(),
    });
    this.stateLook = new StateLook({ store: this.store, log, events: journal });
    const { openLimiter, bootMs } = parts;
    const ownUid = parts.self.uid;
    const crowded = (why: string | undefined): void => this.conditions.set('connections', why);
    this.flood = new FloodGate(live, { openLimiter, clock, events: journal, metrics, log, bootMs, ownUid, crowded });
    const { store, flood } = this;
    live.onChange(() => flood.reload(live));
    this.#persistence = new Persistence({ store, roster, lists: inventory, flood, countHealthy });
    this.broker = new Broker({
      ...parts,
      log: this.#refusals,
      events: this.#refusedAgain,
      ...{ roster, inventory, flood, connections: flood.connections },
      store: this.#persistence,
      handlers: parts.drivers.handlers,
      restartSettled: (outcome) => this.#settled(outcome),
      degraded: (what, why) => this.conditions.set(what, why),
      rescanned: this.stateLook.look,
    });
    this.leases = new Leases({
      ...parts,
      ...{ ownUid, store, flood },
      cdi: cdiFiles({ ...parts, settings: live.current.settings }, (why) => this.conditions.set('cdi', why)),
      events: journal,
      broker: this.broker,
      degraded: (why) => this.conditions.set('alloc.sock', why),
    });
    faults?.follow(this.broker.core);
    const { core } = this.broker;
    const { leases } = this;
    if (live.settings.front.enabled) this.front = new FrontLine({ ...parts, core, events: journal, leases });
    const { allocations } = this.leases;
    const use = resourceUse(this.leases, this.front);
    const ordered = { core, flood, persistence: this.#persistence, leases: allocations };
    const asked = { reload: async () => this.reload?.(), head: () => this.head() };
    this.port = adminPort({ ...ordered, clock, events: journal, use, ...asked });
    subscribe({ core, flood, persistence: this.#persistence, leases: this.leases, front: this.front, faults });
  }

  /** The broker's own facts. */
  view(): BrokerView {
    const problems = [...this.conditions.sentences, ...this.#policyProblems()];
    const settled = this.#isRestored && this.broker.core.restart.isSettled;
    const phase = this.#isStopping ? 'stopping' : !settled ? 'restoring' : problems.length > 0 ? 'degraded' : 'ready';
    return {
      version: this.#parts.version,
      pid: this.#parts.self.pid,
      phase,
      startedAt: timeText(this.#startedAt),
      bootId: this.#parts.bootId,
      restoredPlugins: this.broker.core.restart.restored,
      problems,
    };
  }

  /** What does not work, as metrics name it. */
  get degraded(): readonly ('checkpoint' | 'discovery' | 'descriptors' | 'policy' | 'allocation' | 'http')[] {
    const policy = this.#policyProblems().map(() => 'policy' as const);
    return [...this.conditions.areas, ...policy];
  }

  /** Everything that `status` shows beside plugins and resources. */
  head(): Omit<StatusView, 'plugins' | 'resources'> {
    return {
      broker: this.view(),
      checkpoint: this.store.view(),
      policy: this.#parts.live.view(),
      ledger: this.leases.view(),
      refused: this.#refusedAgain.views(),
    };
  }

  /**
   * Opens everything: what the checkpoint knows is served before any plugin is dialled.
   *
   * @throws PathTaken when a path is not ours
   */
  start(): Promise<void> {
    this.#starting = this.#start();
    return this.#starting;
  }

  async #start(): Promise<void> {
    const { live, clock, log, journal, version, self } = this.#parts;
    const { paths, restart } = live.current.settings;
    const opened = await this.store.open();
    await journal.open(opened.eventSeq);
    const { core } = this.broker;
    await this.#persistence.restore(clock.wall());
    await this.leases.restore(opened);
    this.#parts.drivers.restore(core);
    const over = this.flood.restore(this.store.contents.limits, !opened.rebooted);
    this.#isRestored = true;
    // Whoever serves this root already is found by its kubelet.sock, before its broker.sock is replaced.
    await this.broker.bind();
    await this.broker.serveOperators(this.port, () => this.view().phase);
    // As soon as it can be: every millisecond of ours without it the kubelet has no devices of ours.
    this.front?.open();
    await this.broker.servePodResources(this.leases.allocations, this.front);
    const isCold = opened.view.state === 'empty';
    if (restart.wipeSockets === 'always' || (restart.wipeSockets === 'on-cold-start' && isCold))
      wipePlugins(paths.devicePlugins, log, journal);
    this.#storeChanged();
    await this.broker.open();
    await this.leases.open();
    for (const quarantine of over) core.quarantineResponse.quarantineEnded(quarantine);
    log.info('broker.started', `plugin-broker ${version} serves ${paths.root}`, { pid: self.pid });
    journal.record({
      type: 'broker',
      message: `plugin-broker ${version} started with pid ${String(self.pid)}`,
      facts: { start: opened.rebooted ? 'rebooted' : journal.before, restored: core.restart.restored },
    });
    this.#told();
    await journal.restore();
  }

  /** Stops accepting, finishes calls, writes everything, once a start that goes on is over. broker.sock answers until `close`. */
  async stop(why: string): Promise<void> {
    if (this.#isStopping) return;
    this.#isStopping = true;
    const wayOut = (this.#wayOut = new WayOut(this.#parts.clock));
    const { log, journal } = this.#parts;
    this.#told();
    if (this.#starting === undefined) return; // nothing was read, so that nothing may be written
    log.info('broker.stopping', `the broker is stopping: ${why}`);
    journal.record({ type: 'broker', message: `the broker is stopping: ${why}` });
    await this.#starting.catch(() => undefined); // its caller has the error
    await Promise.all([this.broker.stop(), this.leases.stop()]);
    await this.#persistence.writePenalties();
    await this.store.flush(wayOut.flushMs());
    await journal.close(wayOut.eventsMs());
    // What is closed from here on is not a fact about plugins: the checkpoint keeps what it has.
    this.store.close();
    await this.front?.close();
    await this.#parts.drivers.stop();
    await this.broker.closeSessions();
    this.flood.close();
    this.#refusals.close();
  }

  /** Goes on answering operators, as things were, until a successor answers in our place. Never rejects. */
  async linger(limitMs: number): Promise<void> {
    const { clock } = this.#parts;
    const until = clock.mono() + (this.#wayOut?.lingerMs(limitMs) ?? limitMs);
    while (this.broker.isAnsweringOperators && clock.mono() < until) await sleep(clock, LINGER_LOOK_MS);
  }

  /** Ends the admin API. */
  close(): Promise<void> {
    return this.broker.closeOperators();
  }

  #settled({ confirmed, settling, total }: RestartOutcome): void {
    const seconds = (this.#parts.clock.mono() - this.#startedMono) / 1000;
    this.#parts.metrics.restored(seconds);
    this.#parts.drivers.settle();
    this.leases.settled();
    if (total > 0) {
      const away = settling === 0 ? '' : `, ${String(settling)} are restarting themselves`;
      const message = `${String(confirmed)} of ${String(total)} plugins of the checkpoint are confirmed after ${seconds.toFixed(2)} s${away}`;
      this.#parts.log.info('broker.restored', message);
      const facts = { settled: Math.round(seconds * 1000), confirmed, settling, total };
      this.#parts.journal.record({ type: 'broker', message, facts });
    }
    this.#told();
  }

  #storeChanged(): void {
    const { state, reason } = this.store.view();
    const isWrong = state === 'not-writable' || state === 'newer-format';
    this.conditions.set('checkpoint', isWrong ? `the checkpoint is ${state}: ${reason}` : undefined);
    if (isWrong) return;
    this.#persistence.caughtUp();
    this.leases.allocations.keeper.caughtUp();
  }

  #policyProblems(): string[] {
    const { error, source } = this.#parts.live.view();
    return error === '' ? [] : [`the policy file ${source} is not in force: ${error}`];
  }

  #told(): void {
    this.#parts.phaseChanged(this.view());
    this.broker.phaseChanged();
  }
}
