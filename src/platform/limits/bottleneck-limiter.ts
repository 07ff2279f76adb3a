// The Limiter on Bottleneck. Who decides what:
//
// - Bottleneck mints. Its jobs, one at a time and at least `minTime` apart, put permits into a stock that runs ahead of
//   need, up to a burst more than a burst. A permit that no job has minted is not given out. It is asked only when the
//   stock has run low, so a plugin that registers now and then never starts it, and a stocked limiter has no job, no
//   timer and no instance that does anything. One mint brings what 50 ms earn, or one permit where an interval is
//   longer: a job costs about 0.1 ms of CPU and starts 3 ms after it was asked for, too much for each 5 ms of
//   `global.register`.
// - The monotonic clock bounds. CreditLedger knows what the elapsed time has earned, and a minted permit is spent only
//   against such credit, so that Bottleneck, which goes by Date.now, can mint early without anybody getting more.
// - A decision reads two numbers. It never waits for a timer of Bottleneck: permits are minted before they are earned.
//
// Its traps: settings are never updated, a reload goes on with a new instance and the old credit (updateSettings ends
// the refill). No reservoir, so no heartbeat. At most one job is in it, so its queue needs no highWater and no strategy.
// A wall clock that steps would hold a mint for the length of the step: it is seen as a difference between wall and
// monotonic clock, and by a mint that is overdue, and the instance is replaced. Waiting between mints is done by an
// alarm of ours, because its timers keep a process alive; its own last only for the rest. stop() is called once, on an
// instance that has a job, and what it rejects is expected. A job of a replaced instance changes nothing.
import Bottleneck from 'bottleneck/light.js';
import type { Limiter, OpenLimiter } from '../../flood/limiter.js';
import type { Alarm, Clock } from '../../kernel/clock.js';
import type { BucketSettings } from '../../model/settings.js';
import { CreditLedger } from './credit-ledger.js';

/** A mint brings at least what this long earns. */
const LEAST_STEP_MS = 50;
/** Bottleneck is asked this long before it may mint again, so that it, not our alarm, picks the moment. */
const ASK_AHEAD_MS = 20;
/** A mint this much later than its step is overdue: the instance is stuck or the loop was blocked; either way, replace. */
const OVERDUE_MS = 1_000;
/** When to look again while time has earned a permit that is still to be minted: what a mint takes, and some. */
const MINTING_MS = 10;

/** What follows from settings. */
interface Stocking {
  readonly batch: number;
  readonly minTimeMs: number;
  readonly most: number;
  readonly reorderBelow: number;
}

function stockingFor({ burst, intervalMs }: BucketSettings): Stocking {
  const batch = Math.ceil(LEAST_STEP_MS / intervalMs);
  const ahead = Math.max(burst, 2 * batch);
  return { batch, minTimeMs: batch * intervalMs, most: burst + ahead, reorderBelow: burst + Math.ceil(ahead / 2) };
}

/** See the head of this file. */
class BottleneckLimiter implements Limiter {
  readonly #clock: Clock;
  readonly #ledger: CreditLedger;
  #settings: BucketSettings;
  #stocking: Stocking;
  #stock: number;
  #mint: Bottleneck | undefined;
  /** How far the wall clock was from the monotonic one when the instance was made. */
  #wallOffsetMs = 0;
  /** When a job was handed to the instance; undefined while it has none. */
  #askedAtMs: number | undefined;
  #nextAsk: Alarm | undefined;
  #isClosed = false;

  constructor(clock: Clock, settings: BucketSettings) {
    this.#clock = clock;
    this.#settings = settings;
    this.#ledger = new CreditLedger(settings, clock.mono());
    this.#stocking = stockingFor(settings);
    this.#stock = this.#stocking.most;
  }

  get settings(): BucketSettings {
    return this.#settings;
  }

  tryTake(): boolean {
    return this.reserve(0) !== undefined;
  }

  reserve(maxWaitMs: number): number | undefined {
    if (this.#isClosed) return undefined;
    const nowMs = this.#clock.mono();
    this.#watch(nowMs);
    const waitMs = this.#waitMs(nowMs);
    if (waitMs > maxWaitMs) return undefined;
    this.#ledger.spend(nowMs);
    this.#stock -= 1;
    this.#restock();
    return waitMs;
  }

  permits(): number {
    if (this.#isClosed) return 0;
    return Math.max(0, Math.min(this.#stock, this.#ledger.permits(this.#clock.mono())));
  }

  isFull(): boolean {
    return this.#ledger.isFull(this.#clock.mono());
  }

  nextInMs(): number {
    return this.#waitMs(this.#clock.mono());
  }

  reload(settings: BucketSettings): void {
    const { burst, intervalMs } = this.#settings;
    if (this.#isClosed || (settings.burst === burst && settings.intervalMs === intervalMs)) return;
    const nowMs = this.#clock.mono();
    this.#letGo();
    this.#ledger.resize(settings, nowMs);
    this.#settings = settings;
    this.#stocking = stockingFor(settings);
    this.#stock = Math.min(this.#stocking.most, Math.max(this.#stock, this.#ledger.permits(nowMs)));
    this.#restock();
  }

  close(): void {
    this.#isClosed = true;
    this.#letGo();
  }

  /** Until the next permit is earned, and minted too: a stock that is used up is filled as soon as Bottleneck says. */
  #waitMs(nowMs: number): number {
    const earnedInMs = this.#ledger.nextInMs(nowMs);
    return this.#stock > 0 ? earnedInMs : Math.max(earnedInMs, MINTING_MS);
  }

  #restock(): void {
    if (this.#stock < this.#stocking.reorderBelow && this.#nextAsk === undefined) this.#ask();
  }

  #ask(): void {
    if (this.#askedAtMs !== undefined) return;
    if (this.#hasStepped()) this.#letGo();
    const mint = (this.#mint ??= this.#newMint());
    this.#askedAtMs = this.#clock.mono();
    const mintNow = (): Promise<void> => {
      this.#minted(mint);
      return Promise.resolve();
    };
    // Rejects only when the instance was stopped.
    mint.schedule(mintNow).catch(() => undefined);
  }

  #newMint(): Bottleneck {
    this.#wallOffsetMs = this.#clock.wall() - this.#clock.mono();
    return new Bottleneck({ minTime: this.#stocking.minTimeMs, maxConcurrent: 1 });
  }

  /** One mint: a batch, and after a time in which none came what was earned meanwhile. */
  #minted(mint: Bottleneck): void {
    if (mint !== this.#mint) return;
    const { batch, most, minTimeMs } = this.#stocking;
    this.#stock = Math.min(most, Math.max(this.#stock + batch, this.#ledger.permits(this.#clock.mono())));
    this.#askedAtMs = undefined;
    if (this.#stock === most) return;
    this.#nextAsk = this.#clock.alarm(Math.max(0, minTimeMs - ASK_AHEAD_MS), () => {
      this.#nextAsk = undefined;
      this.#ask();
    });
  }

  /** Replaces an instance that holds a mint for a time that is over, or that the wall clock has moved away. */
  #watch(nowMs: number): void {
    if (this.#askedAtMs === undefined) return;
    const isOverdue = nowMs - this.#askedAtMs > this.#stocking.minTimeMs + OVERDUE_MS;
    if (!isOverdue && !this.#hasStepped()) return;
    this.#letGo();
    this.#ask();
  }

  /** A step of up to half a refill is left to the stock, which runs further ahead than that. */
  #hasStepped(): boolean {
    if (this.#mint === undefined) return false;
    const movedMs = this.#clock.wall() - this.#clock.mono() - this.#wallOffsetMs;
    return Math.abs(movedMs) > ASK_AHEAD_MS + this.#stocking.minTimeMs / 2;
  }

  #letGo(): void {
    this.#nextAsk?.cancel();
    this.#nextAsk = undefined;
    const mint = this.#mint;
    const isBusy = this.#askedAtMs !== undefined;
    this.#mint = undefined;
    this.#askedAtMs = undefined;
    if (mint !== undefined && isBusy) void mint.stop({ dropWaitingJobs: true }).catch(() => undefined);
  }
}

/** Buckets whose refill is paced by Bottleneck and bounded by `clock.mono()`. */
export function bottleneckLimiters(clock: Clock): OpenLimiter {
  return (settings) => new BottleneckLimiter(clock, settings);
}
