// Follows the roster: gathers the facts of each change, has the consequences decided (consequences.ts), and carries them out.
import type { Clock } from '../kernel/clock.js';
import type { InstanceReport, InstanceReports, PluginHandler } from '../model/plugin.js';
import { isTransient, type Reason, type StateReason } from '../model/reasons.js';
import type { PluginPolicy } from '../model/settings.js';
import { isConnected, isReplaced, type Change, type Instance, type RosterListener } from '../model/instance.js';
import type { Attempt, Enroller } from '../model/registration.js';
import {
  afterChange,
  afterLook,
  afterServing,
  lostPath,
  MAX_FALLBACKS,
  needsFallback,
  waitMs,
  type Action,
  type Facts,
} from './consequences.js';
import type { EndpointPorts, Endpoints } from './endpoints.js';
import { Graces } from './graces.js';
import { PathLooks, type PathLookPorts } from './path-looks.js';
import { afterRefusal, isFinal, isVanished, isWorthPulling, mayReturn, pullRequest } from './pull.js';
import type { Reconciler } from './reconciler.js';
import type { Roster } from './roster.js';
import type { Settling } from './settling.js';

/** The ports of lifecycle. */
export interface LifecyclePorts extends Pick<PathLookPorts, 'self' | 'userOf'> {
  readonly enrolments: Pick<Enroller, 'enrol'>;
  readonly roster: Roster;
  readonly reconciler: Reconciler;
  readonly handlers: ReadonlyMap<string, PluginHandler>;
  readonly clock: Clock;
  /** The policy in force, read when it is needed: a reload counts for living plugins, too. */
  readonly policies: { policyFor(type: string, name: string, socket: string): PluginPolicy };
  /** Lets go of lists that do not count any more. Inventory (inventory/inventory) does. */
  readonly lists: { drop(instanceId: string): void };
  readonly endpoints: Pick<Endpoints, 'isListening'>;
  readonly sockets: Pick<EndpointPorts, 'keyAt'>;
  /** Names the loss of a plugin that was given a reason to restart itself: it stays `restored`. */
  readonly settling: Pick<Settling, 'lossOf'>;
}

/** Follows the roster and acts. */
export class Lifecycle implements RosterListener, InstanceReports {
  readonly #ports: LifecyclePorts;
  readonly #graces: Graces;
  readonly #readySince = new Map<string, number>();
  readonly #failures = new Map<string, number>();
  readonly #pathLooks: PathLooks;
  #stopped = false;

  constructor(ports: LifecyclePorts) {
    this.#ports = ports;
    this.#pathLooks = new PathLooks(ports, (instance) => this.#look(instance));
    this.#graces = new Graces({
      clock: ports.clock,
      graceMsOf: (instance) => this.#policyOf(instance).graceMs,
      sockets: ports.sockets,
      over: (instance) => {
        const message = `did not come back within its grace (${instance.message})`;
        ports.roster.report(instance.id, { state: 'gone', reason: 'grace-over', message });
      },
    });
  }

  /** A report of a handler. A loss may mean that the plugin restarts itself, because we gave it a reason. */
  report(id: string, report: InstanceReport): void {
    const { roster, settling } = this.#ports;
    const instance = roster.get(id);
    if (instance === undefined || this.#stopped) return;
    const loss = report.state === 'held' ? settling.lossOf(instance, report) : undefined;
    const wasHeld = instance.state === 'held';
    roster.report(id, loss ?? this.#honest(instance, report));
    // One that answers again may have lost its path while it did not.
    if (wasHeld && isConnected(instance) && instance.door === 'register') this.#checkPath(instance);
  }

  /** Facts that a handler cannot know: whether the plugin still listens, and which socket is at its path. */
  #honest(instance: Instance, report: InstanceReport): InstanceReport {
    if (report.state === 'ready' && report.reason !== 'recycled' && isConnected(instance)) {
      // At the watcher door a vanished socket is a de-registration, which is not told here.
      const isLookedAt = instance.door === 'register' || instance.state === 'orphaned';
      return (isLookedAt ? lostPath(instance, this.#ports.sockets.keyAt(instance.socketPath)) : undefined) ?? report;
    }
    // A stream that ended in order is opened again only while somebody listens: otherwise the plugin has left.
    if (report.reason !== 'reopening' || this.#ports.endpoints.isListening(instance)) return report;
    return { ...report, reason: 'connection-lost', message: 'closed its list stream and listens no more' };
  }

  /** An instance took over: its predecessors are let go only now (make before break). */
  serving(id: string): void {
    const instance = this.#ports.roster.get(id);
    if (instance === undefined) return;
    instance.isServing = true;
    instance.wasWatched = true;
    this.#carryOut(instance, afterServing(instance, this.#facts(instance)));
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

  /**
   * Looks where plugins' socket files are now, a few in a turn; called on file events and by the rescan.
   *
   * @param names in the device-plugin directory that changed; undefined: each plugin is looked at
   */
  checkPaths(names?: ReadonlySet<string>): void {
    this.#pathLooks.begin(names);
  }

  #look(instance: Instance): void {
    if (isReplaced(instance) && !this.#ports.endpoints.isListening(instance)) {
      this.close(instance, 'replaced', 'a newer incarnation took over');
    } else if (isConnected(instance) && instance.door === 'register') {
      this.#checkPath(instance);
    } else if (mayReturn(instance) && !this.#ports.reconciler.has(instance.id, instance.socketKey)) {
      if (this.#ports.endpoints.isListening(instance)) this.pull(instance, 0);
    }
  }

  /** Cancels all alarms. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#pathLooks.stop();
    this.#graces.stop();
    const { roster, handlers } = this.#ports;
    for (const { id, type } of [...roster.all()]) {
      await handlers
        .get(type)
        ?.deregister(id, 'broker-stopping')
        .catch(() => undefined);
    }
  }

  async #pullOnce(id: string, signal: AbortSignal): Promise<Attempt> {
    const { roster } = this.#ports;
    const instance = roster.get(id);
    if (instance === undefined || !(isWorthPulling(instance) || isReplaced(instance))) {
      // Its quarantine is over and there is no socket to ask: only discovery may find one. Its grace runs.
      const message = 'its quarantine is over, and its registration socket is not there';
      if (instance?.state === 'quarantined') roster.report(id, { state: 'held', reason: 'connection-lost', message });
      return { done: true };
    }
    const outcome = await this.#ports.enrolments.enrol(pullRequest(instance), signal);
    if (outcome.ok) {
      // Lost again before the registration was on disk: the pending registration goes on, or nobody would come back to it.
      const isLost = this.#ports.roster.get(id) === instance && isWorthPulling(instance);
      return isLost ? { done: false, atLeastMs: this.#waitMs(instance) } : { done: true };
    }
    const { refusal } = outcome;
    if (isFinal(refusal)) {
      if (isReplaced(instance)) this.close(instance, 'replaced', refusal.message);
      else {
        const lost: InstanceReport = { state: 'held', reason: 'connection-lost', message: refusal.message };
        // A plugin that may not register again cannot be restarting itself, so it is not settling.
        if (isVanished(refusal)) this.report(id, lost);
        else this.#ports.roster.report(id, lost);
      }
      return { done: true };
    }
    this.#failures.set(id, (this.#failures.get(id) ?? 0) + 1);
    // Its quarantine is over and it does not come in: from now on its grace runs, as of any other that is lost.
    if (instance.state === 'quarantined' && !isTransient(refusal)) {
      roster.report(id, { state: 'held', reason: 'connection-lost', message: refusal.message });
    }
    return afterRefusal(instance, refusal);
  }

  /** An instance changed. */
  changed({ instance, before }: Change): void {
    if (this.#stopped) return;
    this.#graces.follow(instance);
    this.#carryOut(instance, afterChange(instance, before, this.#facts(instance)));
  }

  #waitMs(instance: Instance): number {
    const { failures, updateIntervalMs } = this.#facts(instance);
    return waitMs(instance, failures, updateIntervalMs);
  }

  #facts(instance: Instance): Facts {
    const { roster, clock, endpoints } = this.#ports;
    const since = this.#readySince.get(instance.id);
    return {
      siblings: roster.ofPlugin(instance.type, instance.name),
      coexist: this.#handler(instance)?.coexist === true,
      get isListening() {
        return endpoints.isListening(instance);
      },
      servedForMs: since === undefined ? undefined : clock.mono() - since,
      failures: this.#failures.get(instance.id) ?? 0,
      updateIntervalMs: this.#policyOf(instance).flood.updates.intervalMs,
    };
  }

  #carryOut(instance: Instance, actions: readonly Action[]): void {
    for (const action of actions) this.#act(instance, action);
  }

  #act(instance: Instance, action: Action): void {
    const { reconciler, clock, lists } = this.#ports;
    const { id } = instance;
    switch (action.do) {
      case 'note-ready':
        this.#readySince.set(id, clock.mono());
        return;
      case 'note-lost':
        this.#readySince.delete(id);
        this.#failures.set(id, action.failures);
        return;
      case 'end-session':
        this.#endSession(instance, instance.reason);
        return;
      case 'drop-lists':
        lists.drop(id);
        return;
      case 'cancel-sleeping-pull':
        reconciler.unwantAsleep(id);
        return;
      case 'cancel-pull':
        reconciler.unwant(id);
        return;
      case 'pull':
        this.pull(instance, action.delayMs);
        return;
      case 'fall-back':
        this.pull(action.to, action.delayMs, () => needsFallback(this.#facts(action.to).siblings));
        return;
      case 'retire':
        this.#retire(action.whom);
    }
  }

  #endSession(instance: Instance, reason: Reason): void {
    void this.#handler(instance)
      ?.deregister(instance.id, reason)
      .catch(() => undefined);
  }

  #retire(instance: Instance): void {
    const { roster, reconciler } = this.#ports;
    this.#endSession(instance, 'replaced');
    reconciler.unwant(instance.id);
    this.#ports.lists.drop(instance.id);
    instance.isServing = false;
    // A driver's service listens on when its registration socket is removed; nobody is asked there any more.
    const listens = instance.reason !== 'socket-removed' && this.#ports.endpoints.isListening(instance);
    const message = listens ? 'a newer incarnation took over; kept as fallback' : 'a newer incarnation took over';
    roster.report(instance.id, { state: listens ? 'held' : 'gone', reason: 'replaced', message });
    const fallbacks = roster.ofPlugin(instance.type, instance.name).filter(isReplaced);
    for (const surplus of fallbacks.slice(MAX_FALLBACKS)) this.close(surplus, 'replaced', message);
  }

  #checkPath(instance: Instance): void {
    const report = afterLook(instance, this.#ports.sockets.keyAt(instance.socketPath));
    if (report !== undefined) this.#ports.roster.report(instance.id, report);
  }

  /** An entry was dropped for good. */
  removed(instance: Instance): void {
    this.#graces.forget(instance.id);
    this.#readySince.delete(instance.id);
    this.#failures.delete(instance.id);
    this.#ports.reconciler.unwant(instance.id);
    this.#ports.lists.drop(instance.id);
  }

  /** When a held instance of a socket is given up, epoch milliseconds; undefined where no clock runs for it. */
  keptUntil(type: string, name: string, socket: string): number | undefined {
    const held = this.#ports.roster
      .ofPlugin(type, name)
      .find((one) => one.state === 'held' && one.socketPath === socket);
    return held === undefined ? undefined : this.#graces.endsAt(held.id);
  }

  #policyOf({ type, name, socketPath }: Instance): PluginPolicy {
    return this.#ports.policies.policyFor(type, name, socketPath);
  }

  #handler(instance: Instance): PluginHandler | undefined {
    return this.#ports.handlers.get(instance.type);
  }
}
