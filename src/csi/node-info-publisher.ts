// Keeps the published state equal to the wanted one: by level, not by event, so that nothing is lost when an attempt fails.
import { isDeepStrictEqual } from 'node:util';
import { backoffMs, type BackoffBounds } from '../kernel/backoff.js';
import { asError, type Alarm, type Clock } from '../kernel/clock.js';
import type { Log } from '../kernel/log.js';
import { Pace } from '../kernel/pace.js';
import type { Random } from '../kernel/random.js';
import type { ApplyOutcome, NodeFactsTarget } from './node-facts-target.js';
import type { NodeInfo } from './node-info.js';

/** Whether a driver's facts are public, and the obstacle if not. */
export interface PublishCondition {
  /** publishing: no attempt has ended yet · published · delayed: an attempt failed, the next one comes · refused: it
   * contradicts what is public, or the API server does not take it, until a person mends that. */
  readonly state: 'publishing' | 'published' | 'delayed' | 'refused';
  /** The obstacle, in one sentence; empty when there is none. */
  readonly message: string;
}

/** The ports of the publisher. */
export interface PublisherPorts {
  readonly target: NodeFactsTarget;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /**
   * Whether a driver goes before others, which make room where they contradict it: Drivers (daemon/drivers) knows those of root and
   * of the broker's user. Absent: the first to come is the first.
   */
  readonly goesFirst?: (driver: string) => boolean;
}

/** Waits between attempts that failed. */
const RETRY: BackoffBounds = { firstMs: 200, maxMs: 30_000 };
/**
 * Rounds that succeed: one a second, and so many at once after a pause. A driver that flaps must not press on a server either.
 */
const ROUNDS = { everyMs: 1000, atOnce: 5 };
/** Longer than any driver needs to be found, asked (timeouts.nodeGetInfo) and tried again. */
const SWEEP_AFTER_MS = 60_000;
/** Drivers that wait to be taken back; past it the oldest is left to the sweep of the next start. */
const MAX_UNWANTED = 4096;
/** A contradiction is looked at again this often: a person has to end it. */
const CONFLICT_AGAIN_MS = 60_000;

/** Publishes node facts until done, and takes them back until done. */
export class NodeInfoPublisher {
  readonly #ports: PublisherPorts;
  readonly #wanted = new Map<string, NodeInfo>();
  readonly #unwanted = new Set<string>();
  readonly #conditions = new Map<string, PublishCondition>();
  readonly #halt = new AbortController();
  readonly #listeners: ((driver: string, condition: PublishCondition) => void)[] = [];
  readonly #pace = new Pace(ROUNDS.everyMs * ROUNDS.atOnce);
  #round: Promise<void> | undefined;
  #again = false;
  #alarm: Alarm | undefined;
  #isBackingOff = false;
  #failures = 0;
  #problem = '';
  #sweeping: Alarm | undefined;
  #isSweepDue = false;
  #applyingAgain: Alarm | undefined;

  constructor(ports: PublisherPorts) {
    this.#ports = ports;
  }

  /** The obstacle to publishing now, in one sentence; empty when there is none. For status. */
  get problem(): string {
    return this.#problem;
  }

  /** Whether everything that is wanted is public, and nothing else of ours. */
  get isDone(): boolean {
    return this.#round === undefined && this.#alarm === undefined && !this.#again;
  }

  /** Calls back whenever the condition of a wanted driver changed. */
  onCondition(listener: (driver: string, condition: PublishCondition) => void): void {
    this.#listeners.push(listener);
  }

  /** The condition of a wanted driver; undefined when it is not wanted. */
  conditionOf(driver: string): PublishCondition | undefined {
    return this.#conditions.get(driver);
  }

  /** Wants a driver to be public as told; the newest word counts. Returns at once. */
  publish(info: NodeInfo): void {
    this.#unwanted.delete(info.driver);
    if (isDeepStrictEqual(this.#wanted.get(info.driver), info)) return;
    this.#wanted.set(info.driver, info);
    this.#setCondition(info.driver, { state: 'publishing', message: '' });
    this.#change();
  }

  /** Wants a driver not to be public. Returns at once; a driver that is not wanted anyway is taken back all the same. */
  unpublish(driver: string): void {
    this.#wanted.delete(driver);
    this.#conditions.delete(driver);
    this.#unwanted.add(driver);
    const [oldest = ''] = this.#unwanted;
    if (this.#unwanted.size > MAX_UNWANTED) this.#unwanted.delete(oldest);
    this.#change();
  }

  /**
   * All plugins of the checkpoint have been reported: facts published in an earlier life and no longer wanted are taken back
   * after a while. Drivers that the checkpoint does not know are being asked meanwhile: it may have been lost, or the broker
   * killed between publishing and writing it.
   *
   * @param afterMs the milliseconds to wait before that
   */
  settle(afterMs = SWEEP_AFTER_MS): void {
    this.#sweeping?.cancel();
    this.#sweeping = this.#ports.clock.alarm(afterMs, () => {
      this.#isSweepDue = true;
      this.#change();
    });
  }

  /** Ends all work. Published facts stay public. Idempotent. */
  async stop(): Promise<void> {
    this.#halt.abort(new Error('the publisher is stopped'));
    this.#sweeping?.cancel();
    this.#applyingAgain?.cancel();
    this.#alarm?.cancel();
    this.#alarm = undefined;
    await this.#round;
  }

  #change(): void {
    // An attempt after a failure is not brought forward: a flapping driver must not press on a server in trouble.
    if (this.#halt.signal.aborted || (this.#alarm !== undefined && this.#isBackingOff)) return;
    this.#alarm?.cancel();
    this.#alarm = undefined;
    if (this.#round !== undefined) this.#again = true;
    else this.#start();
  }

  #start(): void {
    const paceMs = this.#pace.waitMs(ROUNDS.everyMs, this.#ports.clock.mono());
    if (paceMs > 0) {
      this.#wait(paceMs);
      return;
    }
    this.#round = this.#attempt().then((waitMs) => {
      this.#round = undefined;
      if (this.#halt.signal.aborted) return;
      if (waitMs !== undefined) this.#wait(waitMs);
      else if (this.#again) this.#start();
    });
  }

  #wait(delayMs: number): void {
    this.#alarm = this.#ports.clock.alarm(delayMs, () => {
      this.#alarm = undefined;
      this.#start();
    });
  }

  /** @returns milliseconds to wait before the next attempt, undefined when none is needed */
  async #attempt(): Promise<number | undefined> {
    let wanted = new Map<string, NodeInfo>();
    let unwanted = new Set<string>();
    let outcome: ApplyOutcome;
    try {
      if (this.#isSweepDue) await this.#sweep();
      this.#again = false;
      wanted = this.#inOrder();
      unwanted = new Set(this.#unwanted);
      outcome = await this.#ports.target.apply(wanted, unwanted, this.#halt.signal);
    } catch (failure) {
      outcome = { ok: false, message: asError(failure).message };
    }
    if (this.#halt.signal.aborted) return undefined;
    this.#applyAgain(outcome.ok ? outcome.againAfterMs : undefined);
    return outcome.ok ? this.#succeeded(wanted, unwanted, outcome.conflicts) : this.#failed(outcome);
  }

  /** A topology key belongs to the first that names it: nobody keeps root's driver from being published by being there before. */
  #inOrder(): Map<string, NodeInfo> {
    const { goesFirst = () => false } = this.#ports;
    const all = [...this.#wanted];
    const isFirst = new Set(all.map(([driver]) => driver).filter((driver) => goesFirst(driver)));
    return new Map([...all.filter(([one]) => isFirst.has(one)), ...all.filter(([one]) => !isFirst.has(one))]);
  }

  /** A failure needs no such alarm: its next attempt comes. */
  #applyAgain(afterMs: number | undefined): void {
    this.#applyingAgain?.cancel();
    this.#applyingAgain = afterMs === undefined ? undefined : this.#ports.clock.alarm(afterMs, () => this.#change());
  }

  async #sweep(): Promise<void> {
    const known = await this.#ports.target.known();
    this.#isSweepDue = false;
    if (known === undefined) {
      this.settle();
      return;
    }
    for (const driver of known) if (!this.#wanted.has(driver)) this.#unwanted.add(driver);
  }

  #succeeded(
    wanted: ReadonlyMap<string, NodeInfo>,
    unwanted: ReadonlySet<string>,
    conflicts: ReadonlyMap<string, string>,
  ): number | undefined {
    this.#failures = 0;
    this.#isBackingOff = false;
    this.#pace.book(ROUNDS.everyMs, this.#ports.clock.mono());
    for (const driver of unwanted) if (!this.#wanted.has(driver)) this.#unwanted.delete(driver);
    for (const [driver, info] of wanted) {
      if (this.#wanted.get(driver) !== info) continue; // changed meanwhile: the next round tells
      const conflict = conflicts.get(driver);
      this.#setCondition(
        driver,
        conflict === undefined ? { state: 'published', message: '' } : { state: 'refused', message: conflict },
      );
    }
    this.#tell([...conflicts.values()].join('; '));
    return conflicts.size === 0 || this.#again ? undefined : CONFLICT_AGAIN_MS;
  }

  #failed({ message, retryAfterMs, isUnfinished }: Extract<ApplyOutcome, { ok: false }>): number {
    this.#failures = isUnfinished === true ? 0 : this.#failures + 1;
    this.#isBackingOff = true;
    for (const driver of this.#wanted.keys()) {
      if (this.#conditions.get(driver)?.state !== 'published')
        this.#setCondition(driver, { state: 'delayed', message });
    }
    this.#tell(message);
    const waitMs = isUnfinished === true ? ROUNDS.everyMs : backoffMs(this.#failures, RETRY, this.#ports.random.next());
    return Math.max(waitMs, retryAfterMs ?? 0);
  }

  /** Says a problem once when it comes, and once when it is over. */
  #tell(problem: string): void {
    if (problem === this.#problem) return;
    const { log } = this.#ports;
    if (problem === '') log.info('csi.published', 'the node facts of all CSI drivers are published');
    else log.error('csi.publish-failed', problem);
    this.#problem = problem;
  }

  #setCondition(driver: string, condition: PublishCondition): void {
    if (isDeepStrictEqual(this.#conditions.get(driver), condition)) return;
    this.#conditions.set(driver, condition);
    for (const listener of this.#listeners) listener(driver, condition);
  }
}
