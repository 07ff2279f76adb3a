// What ordinary users send is taken up one read in each turn of the event loop, in turns between them: hundreds of plugins that begin at
// one moment would else make turns of a tenth of a second, and whatever goes through the loop forty times, as a registration of root or a
// lease does, would wait for some of each. And it is taken up for a part of the time: a user has shares of lists, leases, registrations and
// requests, each of which is bearable, and one that uses all of them at once would have most of the loop. All begin with a read.
import type { Alarm, Clock } from '../kernel/clock.js';
import { Pace } from '../kernel/pace.js';

/** Octets that wait, of all users together. With more of them reads are taken up as they come: what waits is in memory. */
const MOST_WAITING = 16 * 1024 * 1024;
/** Turns with reads of one user may take so long at once, a hundred plugins that begin among it, and a quarter of the time in the long run. */
const BURST_MS = 2000;
const TIMES = 4;
/** The longest debt: of the turn that took what was left. The loop may have been stopped in it. */
const MOST_DEBT_MS = 500;
/** A read causes more than is done at once with it, but no more of a turn than so many times that and a little counts for it: others are busy, too. */
const OF_TURN = 3;
const LITTLE_MS = 0.5;
/** Users whose time is remembered; those that owe nothing are forgotten. */
const MOST_USERS = 1024;

interface Waiting {
  readonly bytes: number;
  readonly takeUp: () => void;
}

/** The ports of the turns. */
export interface ReadTurnPorts {
  /** Milliseconds on the monotonic scale. */
  readonly now: () => number;
  readonly alarm: Clock['alarm'];
  /** Resolves after the event loop has looked at its sockets once: `nextTurn` (platform/time/next-turn). */
  readonly nextTurn: () => Promise<void>;
  /** Resolves when what is done now is over, before anything else of the loop: `endOfThis` (platform/time/next-turn). */
  readonly endOfThis: () => Promise<void>;
}

/** The turns of all reads of ordinary users. */
export class ReadTurns {
  readonly #ports: ReadTurnPorts;
  /** By user; the one whose turn is next is first. None is empty. */
  readonly #users = new Map<number, Waiting[]>();
  /** The time of each user, within turns that have a read of it. */
  readonly #times = new Map<number, Pace>();
  #waitingBytes = 0;
  /** This turn of the loop has taken one up. */
  #isTaken = false;
  /** Nobody who waits has time left. */
  #later: Alarm | undefined;

  constructor(ports: ReadTurnPorts) {
    this.#ports = ports;
  }

  /**
   * Takes a turn for what was read of one connection, which is not to be read on before it has come.
   *
   * @param takeUp called once when the turn has come, unless it is now
   * @returns whether it is now
   */
  take(user: number, bytes: number, takeUp: () => void): boolean {
    if (!this.#isTaken && this.#waitMs(user) === 0) {
      this.#useTurn(user);
      return true;
    }
    if (this.#waitingBytes + bytes > MOST_WAITING) return true;
    const waiting = this.#users.get(user);
    if (waiting === undefined) this.#users.set(user, [{ bytes, takeUp }]);
    else waiting.push({ bytes, takeUp });
    this.#waitingBytes += bytes;
    if (!this.#isTaken) this.#goOn();
    return false;
  }

  #useTurn(user: number): void {
    const { nextTurn, endOfThis, now } = this.#ports;
    const begun = now();
    let ownMs = 0;
    this.#isTaken = true;
    void endOfThis().then(() => (ownMs = now() - begun));
    void nextTurn().then(() => {
      this.#book(user, Math.min(now() - begun, OF_TURN * ownMs + LITTLE_MS), now());
      this.#isTaken = false;
      this.#goOn();
    });
  }

  /** Takes up the next read of those who have time left, or sets the alarm for when somebody has. */
  #goOn(): void {
    let soonestMs = Infinity;
    for (const [user, waiting] of this.#users) {
      const waitMs = this.#waitMs(user);
      soonestMs = Math.min(soonestMs, waitMs);
      if (waitMs > 0) continue;
      this.#users.delete(user);
      const next = waiting.shift();
      if (waiting.length > 0) this.#users.set(user, waiting);
      this.#waitingBytes -= next?.bytes ?? 0;
      this.#useTurn(user);
      next?.takeUp();
      return;
    }
    this.#later?.cancel();
    if (soonestMs === Infinity) return;
    this.#later = this.#ports.alarm(Math.ceil(soonestMs), () => {
      if (!this.#isTaken) this.#goOn();
    });
  }

  #waitMs(user: number): number {
    return this.#times.get(user)?.waitMs(0, this.#ports.now()) ?? 0;
  }

  #book(user: number, tookMs: number, now: number): void {
    const time = this.#times.get(user) ?? new Pace(BURST_MS * TIMES, MOST_DEBT_MS * TIMES);
    time.book(tookMs * TIMES, now);
    this.#times.delete(user);
    this.#times.set(user, time);
    for (const [oldest, old] of this.#times) {
      if (!old.isFull(now) && this.#times.size <= MOST_USERS) break;
      this.#times.delete(oldest);
    }
  }
}
