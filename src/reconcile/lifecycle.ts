// Follows the roster: gathers the facts of each change, asks pure functions for the actions (consequences.ts, pull.ts,
// after-look.ts), and carries them out.
import type { Clock } from '../kernel/clock.js';
import { Paces } from '../kernel/paces.js';
import type { UserFacts } from '../model/ids.js';
import type { NamesMove, PluginHandler } from '../model/plugin.js';
import type { PluginPolicy } from '../model/settings.js';
import { strangerUserOf, type Change, type Instance, type RosterListener } from '../model/instance.js';
import type { Attempt, Enroller } from '../model/registration.js';
import type { Action } from './actions.js';
import { afterListenerLook, lookFor } from './after-look.js';
import { afterChange, isLost, needsFallback, type Facts } from './consequences.js';
import type { Endings } from './endings.js';
import type { EndpointPorts, Endpoints } from './endpoints.js';
import { Graces } from './graces.js';
import { PathLooks, payerOf } from './path-looks.js';
import { afterPull, isAsked, mayReturn, pullRequest, withoutAsking, type Pulled } from './pull.js';
import type { Reconciler } from './reconciler.js';
import type { Reports } from './reports.js';
import type { Roster } from './roster.js';

/**
 * How often it is told that sockets of one user are not at their paths (`payerOf`): a directory of 250 sockets that is renamed to
 * and fro is 500 changes each time, each with an event and a line of the log. Each socket of a user that has as many plugins as it may
 * is away once: told at once. More losses take turns.
 */
const PATH_NEWS = { burst: 256, intervalMs: 500 } as const;

/**
 * How fast the broker comes back to lost plugins of one ordinary user: any number of them may hang up together, and each costs a look
 * at its socket, a dial, and its admission. Each that waits has a turn of its own: with 256 plugins of five incarnations the last comes
 * after 32 s.
 */
const COMEBACKS = { burst: 16, intervalMs: 25 } as const;

/** The ports of lifecycle. */
export interface LifecyclePorts extends UserFacts {
  readonly enrolments: Pick<Enroller, 'enrol'>;
  readonly roster: Roster;
  readonly reconciler: Reconciler;
  readonly handlers: ReadonlyMap<string, PluginHandler>;
  readonly clock: Clock;
  /** The policy in force, read when it is needed, so that a reload counts for living plugins: LiveConfig (config/live-config). */
  readonly policies: { policyFor(type: string, name: string, socket: string): PluginPolicy };
  /** Lets go of lists that do not count any more. Inventory (inventory/inventory) does. */
  readonly lists: { drop(instanceId: string): void };
  readonly endpoints: Pick<Endpoints, 'isListening'>;
  readonly sockets: Pick<EndpointPorts, 'keyAt'>;
  readonly namesMove: NamesMove;
  readonly reports: Reports;
  readonly endings: Endings;
}

/** Follows the roster and acts. */
export class Lifecycle implements RosterListener {
  readonly #ports: LifecyclePorts;
  readonly #graces: Graces;
  readonly #readySince = new Map<string, number>();
  readonly #failures = new Map<string, number>();
  readonly #pathLooks: PathLooks;
  /** By user. */
  readonly #pathNews = new Paces<number>(PATH_NEWS);
  /** By user. */
  readonly #comebacks = new Paces<number>(COMEBACKS);
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
        ports.endings.close(instance, 'grace-over', message);
      },
    });
  }

  /** An instance changed. */
  changed({ instance, before }: Change): void {
    if (this.#stopped) return;
    this.#graces.follow(instance);
    this.#carryOut(instance, afterChange(instance, before, this.#facts(instance)));
  }

  /** An entry was dropped for good. */
  removed(instance: Instance): void {
    this.#graces.forget(instance.id);
    this.#readySince.delete(instance.id);
    this.#failures.delete(instance.id);
    this.#ports.reconciler.unwant(instance.id);
    this.#ports.lists.drop(instance.id);
  }

  /** Wants an instance back, through the whole of admission. */
  pull(instance: Instance, delayMs: number): void {
    this.#want(instance, delayMs, (signal) => this.#pullOnce(instance.id, signal));
  }

  /**
   * Looks where plugins' socket files are now, a few in a turn; called on file events and by the rescan.
   *
   * @param names in the device-plugin directory that changed; undefined: each plugin is looked at
   */
  checkPaths(names?: ReadonlySet<string>): void {
    this.#pathLooks.begin(names);
  }

  /** When a held instance of a socket is given up, epoch milliseconds; undefined where no clock runs for it. */
  keptUntil(type: string, name: string, socket: string): number | undefined {
    const held = this.#ports.roster
      .ofPlugin(type, name)
      .find((one) => one.state === 'held' && one.socketPath === socket);
    return held === undefined ? undefined : this.#graces.endsAt(held.id);
  }

  /** Cancels all alarms, and lets go of all instances. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#ports.reports.stop();
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

  /** Looks at an instance. @returns milliseconds until it may; 0: it has */
  #look(instance: Instance): number {
    const { reconciler, endpoints, reports, sockets, clock } = this.#ports;
    const look = lookFor(instance, reconciler.has(instance.id, instance.socketKey));
    if (look === 'listener') this.#carryOut(instance, afterListenerLook(instance, endpoints.isListening(instance)));
    if (look !== 'path') return 0;
    // That a socket is back follows a loss that was told, and leases wait for it.
    const key = sockets.keyAt(instance.socketPath, instance.socketKey);
    const user = key === instance.socketKey ? undefined : payerOf(instance, this.#ports);
    const waitMs = user === undefined ? 0 : this.#pathNews.waitMs(user, clock.mono());
    if (waitMs === 0 && reports.checkPath(instance, key) && user !== undefined) this.#pathNews.book(user, clock.mono());
    return waitMs;
  }

  /** Pulls an instance in the turn of its user. One that is not pulled by then, or was to be pulled anyway, gives the turn back. */
  #pullInTurn(instance: Instance, delayMs: number): void {
    const user = strangerUserOf(instance, this.#ports);
    if (user === undefined) {
      this.pull(instance, delayMs);
      return;
    }
    const { waitMs, giveBack } = this.#comebacks.book(user, this.#ports.clock.mono());
    let isTaken = false;
    const attempt = (signal: AbortSignal): Promise<Attempt> => {
      isTaken = true;
      return this.#pullOnce(instance.id, signal);
    };
    this.#want(instance, delayMs + waitMs, attempt, () => {
      if (!isTaken) giveBack();
    });
  }

  #want(
    { id, socketKey }: Instance,
    delayMs: number,
    attempt: (signal: AbortSignal) => Promise<Attempt>,
    dropped: () => void = () => undefined,
  ): void {
    const failures = this.#failures.get(id) ?? 0;
    this.#ports.reconciler.want({ key: id, incarnation: socketKey, attempt, dropped }, delayMs, failures);
  }

  async #pullOnce(id: string, signal: AbortSignal): Promise<Attempt> {
    const { roster, enrolments } = this.#ports;
    const instance = roster.get(id);
    if (!isAsked(instance)) return this.#conclude(instance, withoutAsking(instance));
    const outcome = await enrolments.enrol(pullRequest(instance), signal);
    // Decided and done in one turn: nothing that happens in between may be overwritten.
    const isKnown = roster.get(id) === instance;
    return this.#conclude(
      instance,
      afterPull(instance, outcome, { isKnown, givenUp: this.#givenUp(instance), ...this.#pace(instance) }),
    );
  }

  #conclude(instance: Instance | undefined, { attempt, actions }: Pulled): Attempt {
    if (instance !== undefined) this.#carryOut(instance, actions);
    return attempt;
  }

  #facts(instance: Instance): Facts {
    const { clock, endpoints } = this.#ports;
    const since = this.#readySince.get(instance.id);
    return {
      siblings: this.#siblings(instance),
      coexist: this.#ports.handlers.get(instance.type)?.coexist === true,
      isListening: isLost(instance) && endpoints.isListening(instance),
      servedForMs: since === undefined ? undefined : clock.mono() - since,
      ...this.#pace(instance),
    };
  }

  /** The facts that decide how soon the broker may come back to an instance. */
  #pace(instance: Instance): Pick<Facts, 'failures' | 'updateIntervalMs'> {
    const failures = this.#failures.get(instance.id) ?? 0;
    return { failures, updateIntervalMs: this.#policyOf(instance).flood.updates.intervalMs };
  }

  #givenUp(instance: Instance): number {
    const user = strangerUserOf(instance, this.#ports);
    if (user === undefined || !mayReturn(instance)) return 0;
    let count = 0;
    for (const one of this.#ports.roster.all())
      if (mayReturn(one) && strangerUserOf(one, this.#ports) === user) count += 1;
    return count;
  }

  #siblings({ type, name }: Instance): readonly Instance[] {
    return this.#ports.roster.ofPlugin(type, name);
  }

  #carryOut(instance: Instance, actions: readonly Action[]): void {
    for (const action of actions) this.#act(instance, action);
  }

  #act(instance: Instance, action: Action): void {
    const { roster, reconciler, clock, lists, reports, endings } = this.#ports;
    const { id } = instance;
    switch (action.do) {
      case 'note-ready':
        return void this.#readySince.set(id, clock.mono());
      case 'note-lost':
        this.#readySince.delete(id);
        return void this.#failures.set(id, action.failures);
      case 'note-failed':
        return void this.#failures.set(id, action.failures);
      case 'end-session':
        return endings.endSession(instance, instance.reason);
      case 'drop-lists':
        return lists.drop(id);
      case 'cancel-sleeping-pull':
        return reconciler.unwantAsleep(id);
      case 'cancel-pull':
        return reconciler.unwant(id);
      case 'pull':
        return this.#pullInTurn(instance, action.delayMs);
      case 'fall-back':
        return this.#fallBack(action.to, action.delayMs);
      case 'retire':
        return endings.retire(action.whom);
      case 'close-replaced':
        return endings.close(instance, 'replaced', action.message);
      case 'report':
        return roster.report(id, action.report);
      case 'report-loss':
        return reports.report(id, action.report);
    }
  }

  /** Asks a predecessor, unless another instance speaks for its plugin by then. */
  #fallBack(instance: Instance, delayMs: number): void {
    this.#want(instance, delayMs, (signal) =>
      needsFallback(this.#siblings(instance)) ? this.#pullOnce(instance.id, signal) : Promise.resolve({ done: true }),
    );
  }

  #policyOf({ type, name, socketPath }: Instance): PluginPolicy {
    return this.#ports.policies.policyFor(type, name, socketPath);
  }
}
