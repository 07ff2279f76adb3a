import { HOLD, type Brake } from './brake.js';
import type { Inbound } from './inbound.js';
import type { LazyAlarm } from './lazy-alarm.js';

/** Reads a peer late, or only once every so often and lets one call of it pass each time. */
export class Throttle {
  readonly #brake: Brake;
  readonly #inbound: Inbound;
  readonly #alarm: LazyAlarm;
  readonly #now: () => number;
  #everyMs: number | undefined;
  #readAgainAt = 0;
  #firstReadAt = 0;
  /** Its first call has not come yet. */
  #awaitsFirst = false;

  /** @param alarm calls `check` when it rings */
  constructor(brake: Brake, inbound: Inbound, alarm: LazyAlarm, now: () => number) {
    this.#brake = brake;
    this.#inbound = inbound;
    this.#alarm = alarm;
    this.#now = now;
  }

  /** Not before so many milliseconds. Before anything was read. */
  readLater(ms: number): void {
    if (ms <= 0) return;
    this.#brake.hold(HOLD.NOT_YET);
    this.#firstReadAt = this.#now() + ms;
    this.#alarm.ringAt(this.#firstReadAt);
  }

  /** From now on; milliseconds between two reads. Idempotent. */
  begin(everyMs: number): void {
    if (this.#everyMs === undefined || this.#awaitsFirst) this.#pause(everyMs);
    this.#everyMs = everyMs;
  }

  /** From the first call on, which passes at once. Before anything was read. */
  beginAfterOneCall(everyMs: number): void {
    this.#everyMs = everyMs;
    this.#awaitsFirst = true;
    this.#inbound.allowCalls(1);
  }

  /** Something was read. */
  afterRead(): void {
    if (this.#everyMs !== undefined && !(this.#awaitsFirst && this.#inbound.mayOpen)) this.#pause(this.#everyMs);
  }

  /**
   * The alarm rang.
   *
   * @param admit lets what was held back pass
   */
  check(now: number, admit: () => void): void {
    if (now >= this.#firstReadAt) this.#brake.letGo(HOLD.NOT_YET);
    else this.#alarm.ringAt(this.#firstReadAt);
    if (this.#everyMs === undefined || !this.#brake.has(HOLD.THROTTLED)) return;
    if (now >= this.#readAgainAt) {
      this.#inbound.allowCalls(1);
      admit();
      if (this.#inbound.isStalled) this.#pause(this.#everyMs);
      else this.#brake.letGo(HOLD.THROTTLED);
    }
    this.#alarm.ringAt(this.#readAgainAt > now ? this.#readAgainAt : Infinity);
  }

  #pause(everyMs: number): void {
    this.#awaitsFirst = false;
    this.#brake.hold(HOLD.THROTTLED);
    this.#inbound.allowCalls(0);
    this.#readAgainAt = this.#now() + everyMs;
    this.#alarm.ringAt(this.#readAgainAt);
  }
}
