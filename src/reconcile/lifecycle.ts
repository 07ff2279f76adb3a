// What follows from a change of an instance: grace, coming back to it, letting predecessors go, falling back to them.
import type { Alarm, Clock } from '../kernel/clock.js';
import { DEVICE_PLUGIN } from '../model/ids.js';
import type { InstanceReport, Outcome, PluginHandler, RegistrationRequest } from '../model/plugin.js';
import type { Reason, StateReason } from '../model/reasons.js';
import type { PluginPolicy } from '../model/settings.js';
import { isConnected, isLive, isReplaced, type Instance } from './instance.js';
import { lostPath } from './lost-path.js';
import { afterRefusal, isFinal, isVanished, isWorthPulling, mayReturn, pullRequest } from './pull.js';
import type { Attempt, Reconciler } from './reconciler.js';
import type { Change, Roster } from './roster.js';

/** Predecessors of one plugin that are kept as fallback. */
const MAX_FALLBACKS = 2;
/** Incarnations of one plugin that are connected and have not delivered a list. */
const MAX_WAITING = 4;
/** While a lost plugin's socket still listens it is given this long to come back before its predecessor is asked. */
const FALLBACK_AFTER_MS = 2000;
/** Drivers are held without a clock while only their service is away; these reasons start it for them, too. */
const ENDS_DRIVERS = new Set<Reason>(['socket-removed', 'not-answering', 'connection-lost']);
/** A session that lasted this long has proved itself: coming back to it starts without a wait. */
const PROVEN_AFTER_MS = 10_000;
/** After a session was closed for flooding, this many update intervals pass before it is opened again (contract 4). */
const FLOOD_PAUSE_INTERVALS = 10;

/** What lifecycle needs. */
export interface LifecyclePorts {
  readonly roster: Roster;
  readonly reconciler: Reconciler;
  readonly handlers: ReadonlyMap<string, PluginHandler>;
  readonly enrol: (request: RegistrationRequest, signal: AbortSignal) => Promise<Outcome>;
  readonly clock: Clock;
  /** The policy in force, asked when it is needed: a reload counts for those who live, too. */
  readonly policyFor: (type: string, name: string, socket: string) => PluginPolicy;
  /** The lists of an instance do not count any more. */
  readonly dropLists: (id: string) => void;
  /** Whether somebody listens on the very endpoint of an instance. */
  readonly isListening: (instance: Instance) => boolean;
  /** The key of the incarnation at a path now. */
  readonly keyAt: (path: string) => string | undefined;
  /** What a loss is called during a restart of the broker: plugins that restart themselves stay `restored`. */
  readonly lossDuringRestart: (instance: Instance, report: InstanceReport) => InstanceReport | undefined;
}

/** Follows the roster and acts. */
export class Lifecycle {
  readonly #ports: LifecyclePorts;
  readonly #graces = new Map<string, Alarm>();
  readonly #readySince = new Map<string, number>();
  readonly #failures = new Map<string, number>();
  #stopped = false;

  constructor(ports: LifecyclePorts) {
    this.#ports = ports;
    ports.roster.onChange((change) => this.#changed(change));
    ports.roster.onRemoved((instance) => this.#forgotten(instance));
  }

  /** A report of a handler. During a restart a loss may mean that the plugin restarts itself on our cue. */
  report(id: string, report: InstanceReport): void {
    const { roster, lossDuringRestart } = this.#ports;
    const instance = roster.get(id);
    if (instance === undefined || this.#stopped) return;
    const loss = report.state === 'held' ? lossDuringRestart(instance, report) : undefined;
    const wasHeld = instance.state === 'held';
    roster.report(id, loss ?? this.#honest(instance, report));
    // One that answers again may have lost its path while it did not.
    if (wasHeld && isConnected(instance) && instance.door === 'register') this.#checkPath(instance);
  }

  /** What a handler cannot know: whether somebody listens still, and whose the plugin's path is. */
  #honest(instance: Instance, report: InstanceReport): InstanceReport {
    if (report.state === 'ready' && report.reason !== 'recycled' && isConnected(instance)) {
      // At the watcher door a vanished socket is a de-registration, which is not told here.
      const isLookedAt = instance.door === 'register' || instance.state === 'orphaned';
      return (isLookedAt ? lostPath(instance, this.#ports.keyAt(instance.socketPath)) : undefined) ?? report;
    }
    // A stream that ended in order is opened again only while somebody listens: otherwise the plugin has left.
    if (report.reason !== 'reopening' || this.#ports.isListening(instance)) return report;
    return { ...report, reason: 'connection-lost', message: 'closed its list stream and listens no more' };
  }

  /** An instance took over: what it replaces is let go only now (make before break). */
  serving(id: string): void {
    const instance = this.#ports.roster.get(id);
    if (instance === undefined) return;
    instance.isServing = true;
    instance.wasWatched = true;
    if (instance.state === 'connecting' || this.#handler(instance)?.coexist === true) return;
    const siblings = this.#ports.roster.ofPlugin(instance.type, instance.name);
    const newer = siblings.some((one) => one.seq > instance.seq && one.isServing && isConnected(one));
    if (newer) {
      this.#retire(instance);
      return;
    }
    for (const sibling of siblings) {
      const isOlder = sibling !== instance && sibling.seq < instance.seq;
      if (isOlder && isLive(sibling) && sibling.state !== 'connecting') this.#retire(sibling);
    }
  }

  /** Closes an instance for good, with a reason. */
  close(instance: Instance, reason: StateReason, message: string): void {
    this.#ports.roster.report(instance.id, { state: 'gone', reason, message });
  }

  /** Wants an instance back, through the whole of admission. */
  pull(instance: Instance, delayMs: number, onlyWhenNeeded: () => boolean = () => true): void {
    const { id } = instance;
    this.#ports.reconciler.want(
      {
        key: id,
        incarnation: instance.socketKey,
        attempt: async (signal) => (onlyWhenNeeded() ? this.#pullOnce(id, signal) : { done: true }),
      },
      delayMs,
      this.#failures.get(id) ?? 0,
    );
  }

  /** Looks where each plugin's socket file is now; called on file events and by the rescan. */
  checkPaths(): void {
    for (const instance of [...this.#ports.roster.all()]) {
      if (isReplaced(instance) && !this.#ports.isListening(instance)) {
        this.close(instance, 'replaced', 'a newer incarnation took over');
      } else if (isConnected(instance) && instance.door === 'register') {
        this.#checkPath(instance);
      } else if (mayReturn(instance) && !this.#ports.reconciler.has(instance.id, instance.socketKey)) {
        if (this.#ports.isListening(instance)) this.pull(instance, 0);
      }
    }
  }

  /** Cancels all alarms. */
  stop(): void {
    this.#stopped = true;
    for (const alarm of this.#graces.values()) alarm.cancel();
    this.#graces.clear();
  }

  async #pullOnce(id: string, signal: AbortSignal): Promise<Attempt> {
    const instance = this.#ports.roster.get(id);
    if (instance === undefined || !(isWorthPulling(instance) || isReplaced(instance))) return { done: true };
    const outcome = await this.#ports.enrol(pullRequest(instance), signal);
    if (outcome.ok) {
      // Lost again before the registration was on disk: the wish goes on, or nobody would come back to it.
      const isLost = this.#ports.roster.get(id) === instance && isWorthPulling(instance);
      return isLost ? { done: false, atLeastMs: this.#waitFor(instance) } : { done: true };
    }
    const { refusal } = outcome;
    if (isFinal(refusal)) {
      if (isReplaced(instance)) this.close(instance, 'replaced', refusal.message);
      else {
        const lost: InstanceReport = { state: 'held', reason: 'connection-lost', message: refusal.message };
        // What may not come in any more is not restarting itself.
        if (isVanished(refusal)) this.report(id, lost);
        else this.#ports.roster.report(id, lost);
      }
      return { done: true };
    }
    this.#failures.set(id, (this.#failures.get(id) ?? 0) + 1);
    return afterRefusal(instance, refusal);
  }

  #changed({ instance, before }: Change): void {
    if (this.#stopped) return;
    this.#timeGrace(instance);
    const now = this.#ports.clock.mono();
    if (instance.state === 'ready') {
      if (before !== 'ready') this.#readySince.set(instance.id, now);
      this.#boundWaiting(instance);
      return;
    }
    const since = this.#readySince.get(instance.id);
    if (since !== undefined && !isConnected(instance)) {
      this.#readySince.delete(instance.id);
      if (now - since >= PROVEN_AFTER_MS) this.#failures.delete(instance.id);
    }
    const isSettling = instance.state === 'restored' && instance.reason === 'settling';
    if (isSettling || (instance.state === 'held' && !isReplaced(instance))) this.#lost(instance);
    else if (instance.state === 'quarantined') this.#fallBack(instance, 0);
    else if (instance.state === 'gone') this.#over(instance);
  }

  #lost(instance: Instance): void {
    const listens = this.#ports.isListening(instance);
    if (isWorthPulling(instance) && listens) {
      const waitMs = this.#waitFor(instance);
      this.#failures.set(instance.id, (this.#failures.get(instance.id) ?? 0) + 1);
      this.pull(instance, waitMs);
    }
    this.#fallBack(instance, listens ? FALLBACK_AFTER_MS : 0);
  }

  /** The first loss of a proven session is taken up at once; one that keeps ending waits longer and longer. */
  #waitFor(instance: Instance): number {
    const isFlood = instance.reason === 'update-flood';
    const pause = isFlood ? FLOOD_PAUSE_INTERVALS * this.#policyOf(instance).flood.updates.intervalMs : 0;
    const failures = this.#failures.get(instance.id) ?? 0;
    return Math.max(pause, failures === 0 ? 0 : Math.min(30_000, 250 * 2 ** Math.min(failures, 8)));
  }

  #over(instance: Instance): void {
    const handler = this.#handler(instance);
    void handler?.deregister(instance.id, instance.reason).catch(() => undefined);
    this.#ports.dropLists(instance.id);
    if (instance.reason !== 'grace-over') this.#ports.reconciler.unwant(instance.id);
    if (instance.reason !== 'replaced') this.#fallBack(instance, 0);
  }

  /** A predecessor that still listens is taken back when its successor is lost. */
  #fallBack(lost: Instance, delayMs: number): void {
    const { roster } = this.#ports;
    const fallback = roster.ofPlugin(lost.type, lost.name).find(isReplaced);
    if (fallback === undefined) return;
    const isNeeded = (): boolean => {
      const primary = roster.primaryOf(lost.type, lost.name);
      return primary === undefined || !isConnected(primary);
    };
    if (isNeeded()) this.pull(fallback, delayMs, isNeeded);
  }

  #retire(instance: Instance): void {
    const { roster, reconciler } = this.#ports;
    void this.#handler(instance)
      ?.deregister(instance.id, 'replaced')
      .catch(() => undefined);
    reconciler.unwant(instance.id);
    this.#ports.dropLists(instance.id);
    instance.isServing = false;
    const listens = this.#ports.isListening(instance);
    const message = listens ? 'a newer incarnation took over; kept as fallback' : 'a newer incarnation took over';
    roster.report(instance.id, { state: listens ? 'held' : 'gone', reason: 'replaced', message });
    const fallbacks = roster.ofPlugin(instance.type, instance.name).filter(isReplaced);
    for (const surplus of fallbacks.slice(MAX_FALLBACKS)) this.close(surplus, 'replaced', message);
  }

  /** Newest wins once it has delivered its list; how many may be waited for at the same time is bounded. */
  #boundWaiting({ type, name }: Instance): void {
    if (this.#ports.handlers.get(type)?.coexist === true) return;
    const waiting = this.#ports.roster.ofPlugin(type, name).filter((one) => isConnected(one) && !one.isServing);
    for (const surplus of waiting.slice(MAX_WAITING)) this.#retire(surplus);
  }

  #timeGrace(instance: Instance): void {
    const isTimed = instance.type === DEVICE_PLUGIN ? !isReplaced(instance) : this.#endsDriver(instance);
    const runs = instance.state === 'held' && isTimed;
    const running = this.#graces.get(instance.id);
    if (!runs) {
      running?.cancel();
      this.#graces.delete(instance.id);
      return;
    }
    if (running !== undefined) return;
    const alarm = this.#ports.clock.alarm(this.#policyOf(instance).graceMs, () => {
      this.#graces.delete(instance.id);
      this.#ports.roster.report(instance.id, {
        state: 'gone',
        reason: 'grace-over',
        message: `did not come back within its grace (${instance.message})`,
      });
    });
    this.#graces.set(instance.id, alarm);
  }

  /** A driver stays registered while its registration socket stands, whatever does not answer (contract 10). */
  #endsDriver({ reason, socketPath, socketKey }: Instance): boolean {
    return reason === 'socket-removed' || (ENDS_DRIVERS.has(reason) && this.#ports.keyAt(socketPath) !== socketKey);
  }

  #checkPath(instance: Instance): void {
    const { roster, keyAt } = this.#ports;
    const lost = lostPath(instance, keyAt(instance.socketPath));
    if (lost !== undefined) {
      if (instance.reason !== 'recycled') roster.report(instance.id, lost);
    } else if (instance.reason === 'path-missing' || instance.reason === 'path-taken') {
      roster.report(instance.id, { state: 'ready', reason: 'registered', message: 'its socket is back in place' });
    }
  }

  #forgotten(instance: Instance): void {
    this.#graces.get(instance.id)?.cancel();
    this.#graces.delete(instance.id);
    this.#readySince.delete(instance.id);
    this.#failures.delete(instance.id);
    this.#ports.reconciler.unwant(instance.id);
    this.#ports.dropLists(instance.id);
  }

  #policyOf({ type, name, socketPath }: Instance): PluginPolicy {
    return this.#ports.policyFor(type, name, socketPath);
  }

  #handler(instance: Instance): PluginHandler | undefined {
    return this.#ports.handlers.get(instance.type);
  }
}
