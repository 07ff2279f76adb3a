// After a restart of the broker: the plugins of the checkpoint are served at once, every endpoint is dialled in parallel and
// confirmed, and a plugin not confirmed within restart.deadline is held.
import { sleep, type Alarm, type Clock } from '../kernel/clock.js';
import { DEVICE_PLUGIN, type UserFacts } from '../model/ids.js';
import type { Enroller } from '../model/registration.js';
import type { Refusal } from '../model/reasons.js';
import type { RestartSettings } from '../model/settings.js';
import { strangerUserOf, type Change, type Instance, type RosterListener } from '../model/instance.js';
import { fateAtRestart } from './consequences.js';
import type { EndpointPorts } from './endpoints.js';
import type { Lifecycle } from './lifecycle.js';
import { afterRefusal, isFinal, isVanished, lostReport, pullRequest } from './pull.js';
import type { Reconciler } from './reconciler.js';
import type { Roster } from './roster.js';
import type { Settling } from './settling.js';

/**
 * Plugins are dialled so long after kubelet.sock was put in place: clients that wait for kubelet.sock or broker.sock are
 * answered first, and plugins that register by themselves need no dial.
 */
const CALLERS_FIRST_MS = 25;
/** Endpoints dialled in one turn of the event loop: callers of that time are answered between two turns. */
const DIALLED_A_TURN = 4;

/**
 * Plugins of ordinary users are waited for no longer than this: one that hangs would keep everybody from a broker that is ready, at
 * each start, for all of restart.deadline. They go on being asked, and are held at the deadline as ever.
 */
const STRANGERS_MS = 1000;

/** The fate of the checkpoint's plugins, when all were heard of or the deadline had passed. */
export interface RestartOutcome {
  /** Those that answered, and those whose plugin has registered anew. */
  readonly confirmed: number;
  /** Those that are restarting themselves. */
  readonly settling: number;
  readonly total: number;
}

/** Told when all that are waited for are confirmed, or the deadline has passed. Daemon (daemon/daemon) implements it; readiness follows. */
export interface RestartListener {
  settled(outcome: RestartOutcome): void;
}

/** The ports of Restart. */
export interface RestartPorts extends UserFacts {
  readonly enrolments: Pick<Enroller, 'enrol'>;
  readonly roster: Roster;
  readonly reconciler: Reconciler;
  readonly clock: Clock;
  /** Resolves after the event loop has looked at its sockets once: `nextTurn` (platform/time/next-turn). */
  readonly nextTurn: () => Promise<void>;
  readonly settings: RestartSettings;
  readonly sockets: Pick<EndpointPorts, 'keyAt'> & {
    /** A bare connect: whether somebody accepts at a path. `pluginSide` (platform/peer/plugin-side) does. */
    answers(path: string): Promise<boolean>;
  };
  readonly listener: RestartListener;
  /** Gives plugins time to register afresh. */
  readonly settling: Settling;
  readonly lifecycle: Pick<Lifecycle, 'pull'>;
}

/** Follows the instances that came from the checkpoint. */
export class Restart implements RosterListener {
  readonly #ports: RestartPorts;
  /** Restored instances that have not been confirmed or lost yet. */
  readonly #open = new Set<string>();
  /**
   * Plugins that answered before kubelet.sock was put in place, or were away then because an earlier life of the broker sent
   * them.
   */
  readonly #answered = new Set<string>();
  #alarm: Alarm | undefined;
  /** Rings when plugins of ordinary users are not waited for any more. */
  #strangers: Alarm | undefined;
  #waitsForStrangers = true;
  #total = 0;
  #confirmed = 0;
  #settling = 0;
  #hasBegun = false;
  #isSettled = false;

  constructor(ports: RestartPorts) {
    this.#ports = ports;
  }

  /** Counts confirmed plugins, until none is waited for. */
  changed({ instance: { id }, to }: Change): void {
    const fate = this.#open.has(id) ? fateAtRestart(to) : undefined;
    if (fate === undefined) return;
    if (fate === 'confirmed') this.#confirmed += 1;
    if (fate === 'settling') this.#settling += 1;
    this.#close(id);
  }

  /** Instances that came from the checkpoint. */
  get restored(): number {
    return this.#total;
  }

  /** Whether all that are waited for are confirmed, or the deadline has passed. */
  get isSettled(): boolean {
    return this.#isSettled;
  }

  /** Tries each restored endpoint with a bare connect; call this before kubelet.sock is put in place. */
  async noteAnswering(): Promise<void> {
    const restored = [...this.#ports.roster.all()].filter((instance) => instance.state === 'restored');
    this.#total = restored.length;
    for (const { id } of restored) this.#open.add(id);
    await Promise.all(
      restored.map(async (instance) => {
        if (instance.isAway || (await this.#ports.sockets.answers(instance.endpointPath)))
          this.#answered.add(instance.id);
      }),
    );
  }

  /** kubelet.sock was put in place just now: resolves when those who wait for it have called. */
  callersFirst(): Promise<void> {
    return sleep(this.#ports.clock, CALLERS_FIRST_MS);
  }

  /** kubelet.sock is in place: starts the clocks of the deadline and of settling, and dials plugins of that door in parallel. */
  async begin(): Promise<void> {
    const { clock, roster, lifecycle } = this.#ports;
    this.#hasBegun = true;
    this.#ports.settling.sendAway(this.#answered);
    this.#alarm = clock.alarm(this.#ports.settings.deadlineMs, () => this.#deadline());
    this.#strangers = clock.alarm(STRANGERS_MS, () => {
      this.#waitsForStrangers = false;
      this.#check();
    });
    this.#check();
    let dialled = 0;
    for (const instance of [...roster.all()]) {
      if (instance.state !== 'restored') continue;
      if (instance.door === 'watcher') {
        // Discovery finds the socket, and asks its plugin as if it had appeared now; where there is none nobody does.
        if (this.#hasSuccessor(instance)) this.#loseReplaced(instance);
        else this.#loseSilent(instance);
        continue;
      }
      lifecycle.pull(instance, 0);
      this.#pullSuccessor(instance);
      dialled += 1;
      if (dialled % DIALLED_A_TURN === 0) await this.#ports.nextTurn();
    }
  }

  /** Cancels the clocks. */
  stop(): void {
    this.#alarm?.cancel();
    this.#strangers?.cancel();
    this.#ports.settling.stop();
  }

  /** Another incarnation is at the path of a restored one: a plugin that restarted while we were away. */
  #pullSuccessor(instance: Instance): void {
    const key = this.#ports.sockets.keyAt(instance.endpointPath, instance.endpointKey);
    if (key === undefined || key === instance.endpointKey) return;
    const request = pullRequest(instance, key);
    this.#ports.reconciler.want({
      key: `${instance.id}:successor`,
      incarnation: key,
      attempt: async (signal) => {
        const outcome = await this.#ports.enrolments.enrol(request, signal);
        if (outcome.ok) return { done: true };
        if (isFinal(outcome.refusal)) this.#neverReturns(instance, outcome.refusal);
        return afterRefusal(request, outcome.refusal);
      },
    });
  }

  /** Whether the socket that is where this one's registration socket was is known, too: its plugin was restarted before the broker was. */
  #hasSuccessor({ type, name, socketPath, socketKey }: Instance): boolean {
    const key = this.#ports.sockets.keyAt(socketPath, socketKey);
    if (key === undefined || key === socketKey) return false;
    return this.#ports.roster.ofPlugin(type, name).some((other) => other.socketKey === key);
  }

  /** Nobody can find it again, so that no start waits for it. Its grace begins anew. */
  #loseReplaced({ id }: Instance): void {
    const message = 'its registration socket was replaced before the broker came back';
    this.#ports.roster.report(id, { state: 'held', reason: 'socket-removed', message });
  }

  /** A driver whose service is down stays published; a device plugin that is not there has no devices. */
  #loseSilent({ id, type }: Instance): void {
    if (type !== DEVICE_PLUGIN || this.#answered.has(id)) return;
    const message = 'nobody listened on its socket when the broker came back';
    this.#ports.roster.report(id, lostReport(message));
  }

  /** Reports a restored instance as lost, because its successor at the path was refused for good. */
  #neverReturns({ id }: Instance, refusal: Refusal): void {
    const { roster } = this.#ports;
    if (isVanished(refusal) || roster.get(id)?.state !== 'restored') return;
    roster.report(id, lostReport(refusal.message));
  }

  /** Plugins that went away are settling by now: the remaining ones accept connections and answer nothing. */
  #deadline(): void {
    for (const id of [...this.#open]) {
      if (this.#ports.roster.get(id)?.state !== 'restored') continue;
      const message = 'did not answer within restart.deadline';
      this.#ports.roster.report(id, { state: 'held', reason: 'not-answering', message });
    }
    this.#open.clear();
    this.#check();
  }

  #close(id: string): void {
    this.#open.delete(id);
    this.#check();
  }

  #isWaiting(): boolean {
    const { roster } = this.#ports;
    if (this.#waitsForStrangers) return this.#open.size > 0;
    return [...this.#open].some((id) => strangerUserOf(roster.get(id), this.#ports) === undefined);
  }

  #check(): void {
    if (this.#isSettled || !this.#hasBegun || this.#isWaiting()) return;
    this.#isSettled = true;
    this.#strangers?.cancel();
    this.#ports.listener.settled({ confirmed: this.#confirmed, settling: this.#settling, total: this.#total });
  }
}
