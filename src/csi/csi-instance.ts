// Our talk with one incarnation of a CSI driver: asked once for its node info, then watched through its connection.
import { isDeepStrictEqual } from 'node:util';
import { backoffMs, type BackoffBounds } from '../kernel/backoff.js';
import { asError, type Alarm, type Clock } from '../kernel/clock.js';
import type { Random } from '../kernel/random.js';
import { Until } from '../kernel/until.js';
import type { InstanceHandle, InstanceReport, PinnedSocket } from '../model/plugin.js';
import { Refused } from '../model/reasons.js';
import { askNodeInfo } from './ask-node-info.js';
import type { CsiNodeClient, OpenCsiNodeClient } from './csi-node-client.js';
import { factsFrom, type NodeInfo } from './node-info.js';
import type { PublishCondition } from './node-info-publisher.js';

/** The ports of an instance. */
export interface CsiInstancePorts {
  readonly openClient: OpenCsiNodeClient;
  readonly clock: Clock;
  readonly random: Random;
  /** The budget of NodeGetInfo with its retries, in milliseconds. */
  readonly nodeGetInfoMs: number;
  /**
   * Whether the facts of a driver are published; undefined: nothing is known of it. NodeInfoPublisher
   * (csi/node-info-publisher).
   */
  readonly conditionOf: (driver: string) => PublishCondition | undefined;
  /** The driver restarted, and its node info has changed: CsiHandler (csi/csi-handler) publishes it. */
  readonly infoChanged: (instance: CsiInstance) => void;
}

/** A driver that is connected but answers nonsense is asked again with these waits. */
const ASK_AGAIN: BackoffBounds = { firstMs: 1000, maxMs: 30_000 };
/** How long a driver has to prove that it lives (duplicates: keep-alive). */
const ALIVE_WITHIN_MS = 1000;

/** One incarnation of a driver. Reports only changes, and nothing after close. */
export class CsiInstance {
  readonly driver: string;
  readonly handle: InstanceHandle;
  /** It was replaced and may be asked again: the driver stays published until it was. */
  isFallback = false;
  readonly #ports: CsiInstancePorts;
  readonly #halt = new AbortController();
  #info: NodeInfo | undefined;
  #client: CsiNodeClient | undefined;
  #isUp = false;
  /** Other facts than the checkpoint may have. */
  #newFacts: InstanceReport['facts'];
  /** Set once registration succeeded: reports are made from then on. */
  #isCommitted = false;
  /** Why it is held; undefined when it serves. */
  #held: Pick<InstanceReport, 'reason' | 'message'> | undefined;
  #lastReport = '';
  #committing: Alarm | undefined;
  #alarm: Alarm | undefined;
  #isAsking = false;
  #failures = 0;

  constructor(driver: string, handle: InstanceHandle, ports: CsiInstancePorts, info?: NodeInfo) {
    this.driver = driver;
    this.handle = handle;
    this.#ports = ports;
    this.#info = info;
  }

  /** The newest answer of the driver. */
  get info(): NodeInfo | undefined {
    return this.#info;
  }

  /** Whether it was let go of. */
  get isClosed(): boolean {
    return this.#halt.signal.aborted;
  }

  /**
   * Dials the endpoint and asks.
   *
   * @throws Refused, or the signal's reason
   */
  async open(endpoint: PinnedSocket, signal: AbortSignal): Promise<NodeInfo> {
    const client = this.#ports.openClient(endpoint, {
      up: () => this.#up(),
      lost: (details) => this.#lost(details),
    });
    this.#client = client;
    this.#info = await new Until(this.#halt.signal).or(signal, (both) => this.#ask(client, both));
    return this.#info;
  }

  /** Its endpoint is found by another path from now on. */
  renamed(path: string): void {
    this.#client?.renamed(path);
  }

  /** The registration succeeded. Says so, and reports changes, only once the caller has heard of it. */
  commit(): void {
    this.#lastReport = 'registered';
    this.#committing = this.#ports.clock.alarm(0, () => {
      this.#isCommitted = true;
      this.handle.serving();
      this.report();
    });
  }

  /** Whether the driver answers now. */
  async isAlive(signal: AbortSignal): Promise<boolean> {
    return this.#isUp && (await this.#client?.nodeGetInfo(ALIVE_WITHIN_MS, signal))?.ok === true;
  }

  /** Tells the state again if it changed; called when a publishing condition did. */
  report(): void {
    if (!this.#isCommitted || this.isClosed) return;
    const report = this.#held === undefined ? this.#readyReport() : ({ state: 'held', ...this.#held } as const);
    const { state, reason, message } = report;
    // The message of a lost connection changes with every try; an obstacle to publishing is news each time.
    const key = state === 'ready' && reason !== 'registered' ? `${reason} ${message}` : reason;
    if (key === this.#lastReport) return;
    this.#lastReport = key;
    this.handle.report(report);
  }

  /** Lets go of the driver without a word to it. Idempotent. */
  close(): void {
    this.#halt.abort(new Error('the instance is closed'));
    this.#committing?.cancel();
    this.#alarm?.cancel();
    this.#client?.close();
  }

  #readyReport(): InstanceReport {
    const condition = this.#ports.conditionOf(this.driver);
    const say = (reason: InstanceReport['reason'], but: string): InstanceReport => ({
      ...{ state: 'ready', reason, message: `CSI driver ${this.driver} serves${but}` },
      ...(this.#newFacts === undefined ? {} : { facts: this.#newFacts }),
    });
    const not = ', but its node info is not published';
    if (condition?.state === 'delayed') return say('publish-pending', `${not} yet: ${condition.message}`);
    if (condition?.state === 'refused') return say('publish-refused', `${not}: ${condition.message}`);
    return say('registered', '');
  }

  #up(): void {
    this.#isUp = true;
    this.#failures = 0;
    if (this.#held === undefined) return;
    if (this.#isCommitted) void this.#refresh();
    else this.#held = undefined;
  }

  #lost(details: string): void {
    this.#isUp = false;
    this.#alarm?.cancel();
    this.#held = {
      reason: 'service-lost',
      message: `the service socket of CSI driver ${this.driver} does not answer (${details}); the published facts stay`,
    };
    this.report();
  }

  /** The driver is back: its answers may differ now, for example after an upgrade in place. */
  async #refresh(): Promise<void> {
    const client = this.#client;
    if (client === undefined || this.#isAsking) return;
    this.#isAsking = true;
    try {
      const before = this.#info;
      const info = await this.#ask(client, this.#halt.signal);
      this.#info = info;
      if (!isDeepStrictEqual(before, info)) this.#newFacts = factsFrom(info);
    } catch (failure) {
      if (this.#isUp && !this.isClosed) this.#refused(failure);
      return;
    } finally {
      this.#isAsking = false;
    }
    if (!this.#isUp || this.isClosed) return;
    this.#held = undefined;
    this.#ports.infoChanged(this);
    this.report();
  }

  #refused(failure: unknown): void {
    const reason = failure instanceof Refused ? failure.refusal.code : 'service-lost';
    this.#held = { reason, message: `${asError(failure).message}; the published facts stay` };
    this.report();
    this.#failures += 1;
    const waitMs = backoffMs(this.#failures, ASK_AGAIN, this.#ports.random.next());
    this.#alarm = this.#ports.clock.alarm(waitMs, () => void this.#refresh());
  }

  #ask(client: CsiNodeClient, signal: AbortSignal): Promise<NodeInfo> {
    return askNodeInfo(this.driver, client, this.#ports.nodeGetInfoMs, this.#ports, signal);
  }
}
