// The daemon: everything of serve.ts that is not about the process. Opens parts in order, tells how it is, stops in reverse.
import { CheckpointStore } from '../checkpoint/store.js';
import { FloodGate } from '../flood/flood-gate.js';
import { RefusalSummary } from '../flood/refusal-summary.js';
import { sleep, type Clock } from '../kernel/clock.js';
import type { Log } from '../kernel/log.js';
import type { Metrics } from '../kernel/metrics.js';
import type { Random } from '../kernel/random.js';
import type { LiveConfig } from '../config/live-config.js';
import type { Journal } from '../journal/journal.js';
import type { EventSink } from '../model/event.js';
import type { BrokerView, StatusView } from '../model/views.js';
import type { DocumentFile, ListFiles } from '../checkpoint/ports.js';
import type { CheckpointDocument } from '../checkpoint/document.js';
import type { OpenLimiter } from '../flood/limiter.js';
import { wipeSockets } from '../platform/fs/plugin-sockets.js';
import { adminPort } from './admin.js';
import type { Drivers } from './drivers.js';
import { Broker, type BrokerParts } from './broker.js';
import { KUBELET_SOCKET } from './doors.js';
import { floodPort } from './flood-port.js';
import { Persistence } from './persistence.js';
import { quarantineBegan, quarantineEnded } from './quarantine.js';
import { Troubles } from './troubles.js';
import { timeText } from './views.js';

/** Everything is on disk within this when the broker stops, or it is given up (contract 6). */
const FLUSH_MS = 5000;
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
  readonly #parts: DaemonParts;
  readonly #persistence: Persistence;
  readonly #refusals: RefusalSummary;
  readonly #startedAt: number;
  readonly #startedMono: number;
  readonly #troubles: Troubles;
  #starting: Promise<void> | undefined;
  #isStopping = false;
  #isRestored = false;

  constructor(parts: DaemonParts) {
    const { live, clock, random, log, metrics, journal, bootId } = parts;
    this.#parts = parts;
    this.#startedAt = clock.wall();
    this.#startedMono = clock.mono();
    this.#refusals = new RefusalSummary(log, clock);
    this.#troubles = new Troubles(log, journal, () => this.#told());
    this.store = new CheckpointStore({
      file: parts.file,
      lists: parts.lists,
      settings: live.current.settings.checkpoint,
      bootId,
      eventSeq: () => journal.seq,
      clock,
      random,
      events: journal,
      log,
      metrics,
      onStateChange: () => this.#storeChanged(),
    });
    this.flood = new FloodGate(live, {
      openLimiter: parts.openLimiter,
      clock,
      events: journal,
      metrics,
      log,
      bootMs: parts.bootMs,
      quarantineBegan: (quarantine) => quarantineBegan(this.broker.core, quarantine),
      quarantineEnded: (quarantine) => quarantineEnded(this.broker.core, quarantine),
      penaltiesChanged: () => void this.store.update((draft) => draft.setLimits(this.flood.snapshot())),
    });
    this.#persistence = new Persistence(this.store, this.flood);
    live.onChange(() => this.flood.reload(live));
    this.broker = new Broker(this.#brokerParts());
    this.#persistence.follow(this.broker.core);
  }

  /** Where everything that happens is told. */
  get events(): EventSink {
    return this.#parts.journal;
  }

  /** The broker's own facts. */
  view(): BrokerView {
    const problems = [...this.#troubles.sentences, ...this.#policyProblems()];
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
  get degraded(): readonly ('checkpoint' | 'discovery' | 'descriptors' | 'policy')[] {
    const policy = this.#policyProblems().map(() => 'policy' as const);
    return [...this.#troubles.areas, ...policy];
  }

  /** Everything that `status` shows beside plugins and resources. */
  head(): Pick<StatusView, 'broker' | 'checkpoint' | 'policy'> {
    return { broker: this.view(), checkpoint: this.store.view(), policy: this.#parts.live.view() };
  }

  /**
   * Opens everything: what the checkpoint knows is served before any plugin is dialled (contract 6).
   *
   * @throws PathTaken when a path is not ours
   */
  start(): Promise<void> {
    this.#starting = this.#start();
    return this.#starting;
  }

  async #start(): Promise<void> {
    const { live, clock, log, journal } = this.#parts;
    const { paths, restart } = live.current.settings;
    const opened = await this.store.open();
    await journal.open(opened.eventSeq);
    const { core } = this.broker;
    await this.#persistence.restore(core, clock.wall());
    this.#parts.drivers.restore(core);
    const over = this.flood.restore(this.store.contents.limits, !opened.rebooted);
    this.#isRestored = true;
    // Whoever serves this root already is found by its kubelet.sock, before its broker.sock is replaced.
    await this.broker.bind();
    await this.broker.serveOperators(
      adminPort({
        core,
        flood: this.flood,
        persistence: this.#persistence,
        clock,
        events: journal,
        follow: (query, signal) => journal.events(query, signal),
        head: () => this.head(),
      }),
    );
    const isCold = opened.view.state === 'empty';
    if (restart.wipeSockets === 'always' || (restart.wipeSockets === 'on-cold-start' && isCold))
      this.#wipe(paths.devicePlugins);
    this.#storeChanged();
    await this.broker.open();
    for (const quarantine of over) quarantineEnded(core, quarantine);
    log.info('broker.started', `plugin-broker ${this.#parts.version} serves ${paths.root}`, {
      pid: this.#parts.self.pid,
    });
    journal.record({
      type: 'broker',
      message: `plugin-broker ${this.#parts.version} started with pid ${String(this.#parts.self.pid)}`,
    });
    this.#told();
    await journal.restore();
  }

  /** Stops accepting, finishes calls, writes everything, once a start that goes on is over. broker.sock answers until `close`. */
  async stop(why: string): Promise<void> {
    if (this.#isStopping) return;
    this.#isStopping = true;
    const { log, journal } = this.#parts;
    this.#told();
    if (this.#starting === undefined) return; // nothing was read, so that nothing may be written
    log.info('broker.stopping', `the broker is stopping: ${why}`);
    journal.record({ type: 'broker', message: `the broker is stopping: ${why}` });
    await this.#starting.catch(() => undefined); // its caller has the error
    await this.broker.stop();
    await this.store.update((draft) => draft.setLimits(this.flood.snapshot()));
    await this.store.flush(FLUSH_MS);
    await journal.close(FLUSH_MS);
    // What is closed from here on is not a fact about plugins: the checkpoint keeps what it has.
    this.store.close();
    await this.#parts.drivers.stop();
    await this.broker.closeSessions();
    this.flood.close();
    this.#refusals.close();
  }

  /** Goes on answering operators, as things were, until a successor answers in our place. Never rejects. */
  async linger(limitMs: number): Promise<void> {
    const { clock } = this.#parts;
    const until = clock.mono() + limitMs;
    while (this.broker.isAnsweringOperators && clock.mono() < until) await sleep(clock, LINGER_LOOK_MS);
  }

  /** Ends the admin API. */
  close(): Promise<void> {
    return this.broker.closeOperators();
  }

  #brokerParts(): BrokerParts {
    const { live, clock, random, metrics, journal, peers, self, faults } = this.#parts;
    return {
      live,
      self,
      clock,
      random,
      log: this.#refusals,
      metrics,
      events: journal,
      flood: floodPort(() => this.flood, self.uid),
      peers,
      store: {
        persist: (instance) => this.#persistence.persist(instance),
        listApplied: (holding) => this.#persistence.listApplied(holding),
        isDeregistered: (key) => this.#persistence.isDeregistered(key),
      },
      handlers: this.#parts.drivers.handlers,
      countConnection: this.#parts.countConnection,
      restartSettled: (confirmed, total) => this.#settled(confirmed, total),
      degraded: (what, why) => this.#troubles.set(what, why),
      faults,
    };
  }

  #settled(confirmed: number, total: number): void {
    const seconds = (this.#parts.clock.mono() - this.#startedMono) / 1000;
    this.#parts.metrics.restored(seconds);
    this.#parts.drivers.settle();
    if (total > 0) {
      const message = `${String(confirmed)} of ${String(total)} plugins of the checkpoint are confirmed after ${seconds.toFixed(2)} s`;
      this.#parts.log.info('broker.restored', message);
      this.#parts.journal.record({ type: 'broker', message });
    }
    this.#told();
  }

  #storeChanged(): void {
    const { state, reason } = this.store.view();
    const isWrong = state === 'not-writable' || state === 'newer-format';
    this.#troubles.set('checkpoint', isWrong ? `the checkpoint is ${state}: ${reason}` : undefined);
    if (!isWrong) this.#persistence.caughtUp();
  }

  #policyProblems(): string[] {
    const { error, source } = this.#parts.live.view();
    return error === '' ? [] : [`the policy file ${source} is not in force: ${error}`];
  }

  #told(): void {
    this.#parts.phaseChanged(this.view());
  }

  /** As the kubelet at its start: plugins that watch for the loss of their own socket register again. */
  #wipe(directory: string): void {
    const removed = wipeSockets(directory, new Set([KUBELET_SOCKET]));
    if (removed.length === 0) return;
    const message = `${String(removed.length)} plugin sockets were removed, so that their plugins register again (restart.wipeSockets)`;
    this.#parts.log.info('broker.sockets-wiped', message, { sockets: removed.slice(0, 32) });
    this.#parts.journal.record({ type: 'broker', message });
  }
}
