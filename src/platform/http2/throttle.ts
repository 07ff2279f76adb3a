import type { CallTurns } from '../../model/call-turns.js';
import { HOLD, type Brake } from './brake.js';
import type { Inbound } from './inbound.js';
import type { LazyAlarm } from './lazy-alarm.js';

/** Reads a peer late, or only once every so often and lets one call of it pass each time; holds calls back until their turn. */
export class Throttle {
  readonly #brake: Brake;
  readonly #inbound: Inbound;
  readonly #alarm: LazyAlarm;
  readonly #now: () => number;
  #everyMs: number | undefined;
  #readAgainAt = 0;
  #notBefore = 0;
  /** Its first call has not come yet. */
  #awaitsFirst = false;
  /** Those that calls take once it is read slowly. */
  #slowTurns: CallTurns | undefined;
  /** The call that waits has a turn. */
  #hasBooked = false;

  /** @param alarm calls `check` when it rings */
  constructor(brake: Brake, inbound: Inbound, alarm: LazyAlarm, now: () => number) {
    this.#brake = brake;
    this.#inbound = inbound;
    this.#alarm = alarm;
    this.#now = now;
  }

  /** Does not read for so many milliseconds. */
  readLater(ms: number): void {
    if (ms <= 0) return;
    this.#brake.hold(HOLD.NOT_YET);
    this.#notBefore = this.#now() + ms;
    this.#alarm.ringAt(this.#notBefore);
  }

  /** From now on; milliseconds between two reads, and the turns that calls take then. Idempotent. */
  begin(everyMs: number, turns?: CallTurns): void {
    const isNew = this.#everyMs === undefined || this.#awaitsFirst;
    this.#everyMs = everyMs;
    this.#slowTurns ??= turns;
    if (isNew) this.#slow();
  }

  /** From the first call on, which passes at once where one of `first` is free. Before anything was read. */
  beginAfterOneCall(everyMs: number, turns?: CallTurns, first?: CallTurns): void {
    if (first !== undefined) this.#inbound.paceBy(first);
    this.#slowTurns = turns;
    this.#everyMs = everyMs;
    this.#awaitsFirst = true;
    this.#inbound.allowCalls(1);
  }

  /** Something was read. */
  afterRead(): void {
    const { isStalled, mayOpen } = this.#inbound;
    if (this.#awaitsFirst && (isStalled || !mayOpen)) this.#slow();
    else if (isStalled || (this.#everyMs !== undefined && !this.#awaitsFirst)) this.#pause();
  }

  /** The alarm rang. @param admit lets held frames pass */
  check(now: number, admit: () => void): void {
    if (now >= this.#notBefore) this.#brake.letGo(HOLD.NOT_YET);
    else this.#alarm.ringAt(this.#notBefore);
    if (!this.#brake.has(HOLD.THROTTLED)) return;
    if (now >= this.#readAgainAt) {
      this.#inbound.allowCalls(this.#everyMs === undefined ? Infinity : 1);
      if (this.#hasBooked) this.#inbound.giveTurn();
      this.#hasBooked = false;
      admit();
      if (this.#inbound.isStalled) this.#pause();
      else this.#brake.letGo(HOLD.THROTTLED);
    }
    this.#alarm.ringAt(this.#readAgainAt > now ? this.#readAgainAt : Infinity);
  }

  #slow(): void {
    this.#awaitsFirst = false;
    if (this.#slowTurns !== undefined) this.#inbound.paceBy(this.#slowTurns);
    this.#pause();
  }

  #pause(): void {
    this.#brake.hold(HOLD.THROTTLED);
    if (this.#everyMs !== undefined) this.#inbound.allowCalls(0);
    this.#hasBooked = this.#inbound.isStalled;
    const turnMs = this.#hasBooked ? this.#inbound.bookTurn() : 0;
    this.#readAgainAt = this.#now() + Math.max(this.#everyMs ?? 0, turnMs);
    this.#alarm.ringAt(this.#readAgainAt);
  }
}
