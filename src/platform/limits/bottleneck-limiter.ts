// The Limiter on Bottleneck, and its division of work:
//
// - CreditLedger makes the immediate decisions: whether there is a permit now, and how long it is until the next. It
//   goes by the monotonic clock, so no step of the wall clock gives or takes anything.
// - Bottleneck holds the queue: each awaited turn is a job in it, which it starts one by one, at least
//   an interval apart (`minTime`, `maxConcurrent`), and it holds no more than `highWater`.
// - A job that starts waits for the rest of its permit, by an alarm of ours, and then tells the first of the line. A waiter
//   that left meanwhile takes no turn: a job without a waiter ends at once.
//
// Its traps. It takes 3 ms to start a job and 1 ms to refuse one, so only callers that have to wait use it, and a caller that
// cannot be served in time is refused before that. Settings are never updated: a reload goes on with a fresh instance and the
// same credit. It goes by Date.now, so a wall clock that is set back would hold the line for as long: a waiter that should have
// been served looks whether the clocks differ, and a fresh instance takes the line over. A fresh one starts its first job at
// once; the ledger keeps that from being too early. Where the loop was late, one job serves all whose permits have been earned.
// Its timers keep a process alive, so a limiter that is opened must be closed. stop() is called once, on an instance with jobs,
// and its rejections are expected.
import Bottleneck from 'bottleneck/light.js';
import type { Limiter, OpenLimiter, WaitingTurn } from '../../flood/limiter.js';
import type { Alarm, Clock } from '../../kernel/clock.js';
import type { BucketSettings } from '../../model/settings.js';
import { CreditLedger } from './credit-ledger.js';

/** As many may wait, such as sockets at the watcher door; calls are refused earlier, by how long they can wait. */
const MOST_WAITING = 4_096;
/** How much later than its permit a turn may come before the clocks are compared. */
const LOOK_AFTER_MS = 50;
/** How much later before the instance counts as stuck; more than a busy loop needs for the few timers of a job. */
const STUCK_AFTER_MS = 2_000;
/** Where permits come faster than this, one job brings several: a job costs half a millisecond and four timers. */
const LEAST_STEP_MS = 20;
/** How far the clocks may drift apart while somebody waits. */
const DRIFT_MS = 50;

/** One instance of Bottleneck and its jobs. */
interface Line {
  readonly bottleneck: Bottleneck;
  /** Turns that one job brings. */
  readonly batch: number;
  /** How far the wall clock was from the monotonic one when it was made. */
  readonly wallOffsetMs: number;
  /** Jobs that have not ended. */
  jobs: number;
}

/** See the head of this file. */
class BottleneckLimiter implements Limiter {
  readonly #clock: Clock;
  readonly #ledger: CreditLedger;
  #settings: BucketSettings;
  /** The callbacks of the waiters, first come first. */
  readonly #waiting = new Set<() => void>();
  #line: Line | undefined;
  /** The wait of a started job: the rest of its permit. */
  #resting: { readonly alarm: Alarm; readonly wake: () => void } | undefined;
  #lookout: Alarm | undefined;
  #isClosed = false;

  constructor(clock: Clock, settings: BucketSettings) {
    this.#clock = clock;
    this.#settings = settings;
    this.#ledger = new CreditLedger(settings, clock.mono());
  }

  get settings(): BucketSettings {
    return this.#settings;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  tryTake(): boolean {
    return !this.#isClosed && this.#waiting.size === 0 && this.#ledger.spend(this.#clock.mono());
  }

  join(come: () => void): WaitingTurn | undefined {
    if (this.#isClosed || this.#waiting.size === MOST_WAITING) return undefined;
    const told = (): void => come();
    this.#waiting.add(told);
    this.#fillLine();
    this.#lookOut();
    return {
      leave: () => {
        if (this.#waiting.delete(told) && this.#waiting.size === 0) this.#letGo();
      },
    };
  }

  permits(): number {
    return this.#isClosed || this.#waiting.size > 0 ? 0 : this.#ledger.permits(this.#clock.mono());
  }

  isFull(): boolean {
    return this.#waiting.size === 0 && this.#ledger.isFull(this.#clock.mono());
  }

  nextInMs(): number {
    return this.#ledger.nextInMs(this.#clock.mono(), this.#waiting.size);
  }

  reload(settings: BucketSettings): void {
    const { burst, intervalMs } = this.#settings;
    if (this.#isClosed || (settings.burst === burst && settings.intervalMs === intervalMs)) return;
    this.#ledger.resize(settings, this.#clock.mono());
    this.#settings = settings;
    this.#renew();
  }

  close(): void {
    this.#isClosed = true;
    this.#waiting.clear();
    this.#letGo();
  }

  /** Hands over a job for each turn that is waited for and has none. */
  #fillLine(): void {
    const line = (this.#line ??= this.#newLine());
    while (line.jobs * line.batch < this.#waiting.size) {
      line.jobs += 1;
      // Rejects when the instance was stopped, or had no room.
      line.bottleneck.schedule(() => this.#turn(line)).catch(() => void (line.jobs -= 1));
    }
  }

  #newLine(): Line {
    const { burst, intervalMs } = this.#settings;
    // Unspent credit is kept up to a burst, so a job may bring no more than that.
    const batch = Math.max(1, Math.min(burst, Math.floor(LEAST_STEP_MS / intervalMs)));
    const bottleneck = new Bottleneck({
      minTime: batch * intervalMs,
      maxConcurrent: 1,
      highWater: MOST_WAITING,
      strategy: Bottleneck.strategy.OVERFLOW,
    });
    return { bottleneck, batch, wallOffsetMs: this.#wallOffsetMs(), jobs: 0 };
  }

  /** A job: waits for the rest of its permits, then tells every waiter whose permit is there. */
  async #turn(line: Line): Promise<void> {
    while (line === this.#line && this.#waiting.size > 0) {
      const others = Math.min(line.batch, this.#waiting.size) - 1;
      const restMs = this.#ledger.nextInMs(this.#clock.mono(), others);
      if (restMs === 0) break;
      await this.#rest(restMs);
    }
    line.jobs -= 1;
    if (line === this.#line) this.#serve();
  }

  #rest(restMs: number): Promise<void> {
    return new Promise((wake) => {
      this.#resting = { alarm: this.#clock.alarm(restMs, wake), wake };
    });
  }

  #serve(): void {
    for (const told of this.#waiting) {
      if (!this.#ledger.spend(this.#clock.mono())) break;
      this.#waiting.delete(told);
      told();
    }
    if (this.#waiting.size === 0) this.#letGo();
    else {
      this.#fillLine();
      this.#lookOut();
    }
  }

  /** Looks again after the next permit is there: by then somebody was served, or Bottleneck is late. */
  #lookOut(): void {
    this.#lookout?.cancel();
    const dueMs = this.#clock.mono() + this.#ledger.nextInMs(this.#clock.mono());
    const look = (): void => {
      const isStuck = this.#clock.mono() - dueMs >= STUCK_AFTER_MS;
      const driftMs = Math.abs(this.#wallOffsetMs() - (this.#line?.wallOffsetMs ?? 0));
      if (isStuck || driftMs > DRIFT_MS) this.#renew();
      else this.#lookout = this.#clock.alarm(LOOK_AFTER_MS, look);
    };
    this.#lookout = this.#clock.alarm(dueMs - this.#clock.mono() + LOOK_AFTER_MS, look);
  }

  /** A fresh instance takes over the line. */
  #renew(): void {
    this.#letGo();
    if (this.#waiting.size === 0) return;
    this.#fillLine();
    this.#lookOut();
  }

  #letGo(): void {
    this.#lookout?.cancel();
    this.#lookout = undefined;
    const line = this.#line;
    this.#line = undefined;
    this.#resting?.alarm.cancel();
    this.#resting?.wake();
    this.#resting = undefined;
    if (line !== undefined && line.jobs > 0) {
      void line.bottleneck.stop({ dropWaitingJobs: true }).catch(() => undefined);
    }
  }

  #wallOffsetMs(): number {
    return this.#clock.wall() - this.#clock.mono();
  }
}

/** Buckets whose permits are counted by `clock.mono()` and whose queues are held by Bottleneck. */
export function bottleneckLimiters(clock: Clock): OpenLimiter {
  return (settings) => new BottleneckLimiter(clock, settings);
}
