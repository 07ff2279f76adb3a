// The pace at which one session's lists are taken: a permit for each turn. Coalescing is no strike; a
// session that is to be disconnected gets one each time.
import { sleep } from '../kernel/clock.js';
import type { PluginPolicy, UpdateAction } from '../model/settings.js';
import { FairTurns, ONE_TAKER } from './fair-turns.js';
import type { Limiter } from './limiter.js';
import type { FloodSubject, ListPacer } from '../model/flood.js';
import type { ListShares } from './list-shares.js';
import type { FloodPorts } from './ports.js';
import { figures } from './sentences.js';

/** The subject of a pace: the plugin, and the process that sends the lists. */
export type PacedSession = Pick<FloodSubject, 'type' | 'name' | 'uid' | 'socket' | 'caller'>;

/** The ports of a pacer. */
export interface PacerPorts extends Pick<FloodPorts, 'openLimiter' | 'metrics' | 'clock' | 'events'> {
  /** Its session is disconnected, or would be if the mode were `enforce`: a strike, which FloodGate (flood/flood-gate) books. */
  readonly struck: (session: PacedSession) => void;
  /** It is closed: Pacers (flood/pacers) forgets it. */
  readonly closed: (pacer: UpdatePacer) => void;
  /** The cost of lists that each user may cause. */
  readonly shares: ListShares;
}

/** The bucket `updates` of one session. */
export class UpdatePacer implements ListPacer {
  readonly session: PacedSession;
  readonly #ports: PacerPorts;
  /** The bucket, for views. */
  readonly limiter: Limiter;
  readonly #turns: FairTurns;
  #policy: PluginPolicy;
  /** A list waits for its permit: it is one exceeding, however often it is asked for meanwhile. */
  #isWaiting = false;
  /** A list waits until its user has paid for it. */
  #isOwing = false;
  #slowedAtMs: number | undefined;
  #exceeded = 0;

  constructor(session: PacedSession, policy: PluginPolicy, ports: PacerPorts) {
    this.session = session;
    this.#ports = ports;
    this.#policy = policy;
    this.limiter = ports.openLimiter(policy.flood.updates);
    this.#turns = new FairTurns(this.limiter, ports.clock);
  }

  /** The policy in force. */
  get policy(): PluginPolicy {
    return this.#policy;
  }

  /** The setting that made it: `rules[2].flood` or `flood`. */
  get source(): string {
    return this.#policy.floodSource;
  }

  /** The number of lists that had to wait, or would have had to in mode `enforce`. */
  get exceeded(): number {
    return this.#exceeded;
  }

  /** The treatment of a list that waits for its permit, or for the share of its user, now; empty: none waits. */
  get slowing(): UpdateAction | '' {
    if (this.#isOverPace) return this.onExceed;
    return this.#isOwing ? 'coalesce' : '';
  }

  /** Whether its session is closed, or about to be, for its lists. */
  get isCutOff(): boolean {
    return this.#isOverPace && this.onExceed === 'disconnect';
  }

  get #isOverPace(): boolean {
    return this.#isWaiting && this.#policy.flood.mode === 'enforce';
  }

  /** The action when tryTake() says no. */
  get onExceed(): UpdateAction {
    return this.#policy.flood.updates.onExceed;
  }

  /** Spends a permit for a list that is there; always true where the mode is `observe`. */
  tryTake(): boolean {
    if (this.limiter.tryTake()) {
      this.#isWaiting = false;
      return true;
    }
    const isObserved = this.#policy.flood.mode === 'observe';
    const isNews = !this.#isWaiting || isObserved;
    this.#isWaiting = true;
    if (isNews) this.#exceed(isObserved);
    return isObserved;
  }

  /**
   * Waits for the session's turn, its permit spent.
   *
   * @returns false when the session was closed meanwhile
   * @throws the signal's reason
   */
  async nextTurn(signal: AbortSignal): Promise<boolean> {
    const waiting = this.#turns.join(ONE_TAKER, Number.POSITIVE_INFINITY);
    const hasCome = (await waiting?.come(signal)) ?? false;
    this.#isWaiting = false;
    return hasCome;
  }

  /**
   * Waits until there is room for a list in the share of its user, whatever the mode: shares protect the other users.
   *
   * @throws the signal's reason; the list costs nothing then
   */
  async room(bytes: number, signal: AbortSignal): Promise<void> {
    const { shares, clock } = this.#ports;
    const { uid } = this.session;
    const { waitMs, giveBack } = shares.book(uid, bytes);
    if (waitMs === 0) return;
    this.#isOwing = true;
    try {
      await sleep(clock, waitMs, signal);
    } catch (failure) {
      giveBack();
      throw failure;
    } finally {
      this.#isOwing = false;
    }
  }

  /** Books a list that was taken together with one that there was room for. */
  spend(bytes: number): void {
    this.#ports.shares.book(this.session.uid, bytes);
  }

  /** Goes on under another policy with the permits it has. */
  reload(policy: PluginPolicy): void {
    this.#policy = policy;
    this.limiter.reload(policy.flood.updates);
  }

  /** The session is over. Idempotent. */
  close(): void {
    this.#ports.closed(this);
    this.#turns.close();
    this.limiter.close();
  }

  #exceed(isObserved: boolean): void {
    const { flood } = this.#policy;
    this.#exceeded += 1;
    this.#ports.metrics.floodExceeded('updates', isObserved ? 'observe' : flood.updates.onExceed);
    const nowMs = this.#ports.clock.mono();
    const isKnown = this.#slowedAtMs !== undefined && nowMs - this.#slowedAtMs < flood.penalty.windowMs;
    this.#slowedAtMs = nowMs;
    if (!isKnown) this.#tell(isObserved);
    if (flood.updates.onExceed === 'disconnect') this.#ports.struck(this.session);
  }

  /** Once for as long as it goes on: the counters say how often. */
  #tell(isObserved: boolean): void {
    const { type, name, socket, uid } = this.session;
    const { updates } = this.#policy.flood;
    const done = { coalesce: 'only the newest is taken on each turn', disconnect: 'its session is closed' };
    const what = isObserved ? 'all are taken, because the mode is observe' : done[updates.onExceed];
    const message = `${type} ${name} sends lists faster than ${this.source}.updates allows (${figures(updates)}); ${what}`;
    // Coalescing is no strike: only an exceeding that may become a quarantine has the reason that explains one.
    const reason = updates.onExceed === 'disconnect' ? 'update-flood' : '';
    this.#ports.events.record({ type: 'flood', reason, plugin: `${type}/${name}`, uid, socket, message });
  }
}
