// After a restart of the broker: what the checkpoint knew is served at once, every endpoint is dialled in parallel, and
// what restarts itself on our cue is given time to come back (contract 6).
import type { Alarm, Clock } from '../kernel/clock.js';
import { DEVICE_PLUGIN } from '../model/ids.js';
import type { InstanceReport, Outcome, RegistrationRequest } from '../model/plugin.js';
import type { Refusal } from '../model/reasons.js';
import type { RestartSettings } from '../model/settings.js';
import { isConnected, type Instance } from './instance.js';
import type { Lifecycle } from './lifecycle.js';
import { afterRefusal, isFinal, isVanished, pullRequest } from './pull.js';
import type { Reconciler } from './reconciler.js';
import type { Roster } from './roster.js';

/** Endpoints dialled in one turn of the event loop: who calls meanwhile is answered between two turns. */
const DIALLED_A_TURN = 4;

/** Losses of a plugin that is there: it does not restart itself. */
const IS_THERE: ReadonlySet<string> = new Set(['not-answering', 'update-flood']);

/** What the choreography needs. */
export interface RestartPorts {
  readonly roster: Roster;
  readonly reconciler: Reconciler;
  readonly enrol: (request: RegistrationRequest, signal: AbortSignal) => Promise<Outcome>;
  readonly clock: Clock;
  /** Resolves after the event loop has looked at its sockets once. */
  readonly nextTurn: () => Promise<void>;
  readonly settings: () => RestartSettings;
  /** A bare connect to the very endpoint of an instance. */
  readonly answers: (instance: Instance) => Promise<boolean>;
  readonly keyAt: (path: string) => string | undefined;
  /** All are confirmed, or the deadline has passed. */
  readonly settled: (confirmed: number, total: number) => void;
}

/** Follows the instances that came from the checkpoint. */
export class Restart {
  readonly #ports: RestartPorts;
  /** Restored instances that have not been confirmed or lost yet. */
  readonly #open = new Set<string>();
  /** Who answered before the cue was given. */
  readonly #answered = new Set<string>();
  readonly #alarms: Alarm[] = [];
  #total = 0;
  #confirmed = 0;
  #settleUntil: number | undefined;
  #isSettled = false;

  constructor(ports: RestartPorts) {
    this.#ports = ports;
    ports.roster.onChange(({ instance }) => {
      if (!this.#open.has(instance.id)) return;
      if (instance.state === 'ready') this.#confirmed += 1;
      if (instance.state !== 'restored' || instance.reason === 'settling') this.#close(instance.id);
    });
  }

  /** Instances that came from the checkpoint. */
  get restored(): number {
    return this.#total;
  }

  /** Whether all are confirmed or the deadline has passed. */
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
        if (await this.#ports.answers(instance)) this.#answered.add(instance.id);
      }),
    );
  }

  /** The cue was given: starts the clocks of the deadline and of settling, and dials everybody, nobody waiting for another. */
  async begin(lifecycle: Lifecycle): Promise<void> {
    const { clock, roster } = this.#ports;
    const { deadlineMs, settleMs } = this.#ports.settings();
    this.#settleUntil = clock.mono() + settleMs;
    this.#alarms.push(clock.alarm(deadlineMs, () => this.#deadline()));
    this.#alarms.push(clock.alarm(settleMs, () => this.#settleOver(lifecycle)));
    this.#check();
    let dialled = 0;
    for (const instance of [...roster.all()]) {
      if (instance.state !== 'restored') continue;
      if (instance.door === 'watcher') {
        // Discovery finds the socket, and asks its plugin as if it had appeared now; where there is none nobody does.
        this.#loseSilent(instance);
        continue;
      }
      lifecycle.pull(instance, 0);
      this.#pullSuccessor(instance);
      dialled += 1;
      if (dialled % DIALLED_A_TURN === 0) await this.#ports.nextTurn();
    }
  }

  /** What a loss is called now: who answered before the cue and went away restarts itself, and stays `restored`. */
  readonly lossDuringRestart = (instance: Instance, { reason }: InstanceReport): InstanceReport | undefined => {
    if (IS_THERE.has(reason)) return undefined;
    const isSettling = this.#settleUntil !== undefined && this.#ports.clock.mono() < this.#settleUntil;
    const isServing = instance.state === 'restored' || isConnected(instance);
    if (!isSettling || !isServing || !this.#answered.has(instance.id)) return undefined;
    return {
      state: 'restored',
      reason: 'settling',
      message: 'went away after the cue of kubelet.sock; it is given restart.settle to register again',
    };
  };

  /** Cancels the clocks. */
  stop(): void {
    for (const alarm of this.#alarms) alarm.cancel();
  }

  /** Another incarnation is at the path of a restored one: a plugin that restarted while we were away. */
  #pullSuccessor(instance: Instance): void {
    const key = this.#ports.keyAt(instance.endpointPath);
    if (key === undefined || key === instance.endpointKey) return;
    const request = pullRequest(instance, key);
    this.#ports.reconciler.want({
      key: `${instance.id}:successor`,
      incarnation: key,
      attempt: async (signal) => {
        const outcome = await this.#ports.enrol(request, signal);
        if (outcome.ok) return { done: true };
        if (isFinal(outcome.refusal)) this.#neverReturns(instance, outcome.refusal);
        return afterRefusal(request, outcome.refusal);
      },
    });
  }

  /** A driver whose service is down stays published (contract 10); a device plugin that is not there has no devices. */
  #loseSilent({ id, type }: Instance): void {
    if (type !== DEVICE_PLUGIN || this.#answered.has(id)) return;
    const message = 'nobody listened on its socket when the broker came back';
    this.#ports.roster.report(id, { state: 'held', reason: 'connection-lost', message });
  }

  /** What is at the path now may not come in, and what was there does not come back. */
  #neverReturns({ id }: Instance, refusal: Refusal): void {
    const { roster } = this.#ports;
    if (isVanished(refusal) || roster.get(id)?.state !== 'restored') return;
    roster.report(id, { state: 'held', reason: 'connection-lost', message: refusal.message });
  }

  /** Who went away is settling by now: what is left accepts connections and answers nothing. */
  #deadline(): void {
    for (const id of [...this.#open]) {
      if (this.#ports.roster.get(id)?.state !== 'restored') continue;
      const message = 'did not answer within restart.deadline';
      this.#ports.roster.report(id, { state: 'held', reason: 'not-answering', message });
    }
    this.#open.clear();
    this.#check();
  }

  #settleOver(lifecycle: Lifecycle): void {
    this.#settleUntil = undefined;
    for (const instance of [...this.#ports.roster.all()]) {
      if (instance.state !== 'restored') continue;
      lifecycle.report(instance.id, {
        state: 'held',
        reason: 'connection-lost',
        message: 'went away after the cue of kubelet.sock and did not register again within restart.settle',
      });
    }
    this.#answered.clear();
  }

  #close(id: string): void {
    this.#open.delete(id);
    this.#check();
  }

  #check(): void {
    if (this.#isSettled || this.#settleUntil === undefined || this.#open.size > 0) return;
    this.#isSettled = true;
    this.#ports.settled(this.#confirmed, this.#total);
  }
}
