// Who waits for a permit of a limit that all share, and in which order: by turns between processes. Without that one
// process that floods would hold all turns up to the longest wait, and everybody else would come after it.
import { processKey, type Caller } from '../model/ids.js';
import type { Limiter } from './limiter.js';

/** A registration that waits. Its turn may be given to another process, which then has it for its own. */
export interface Turn {
  /** Milliseconds until the turn, 0 when it has come; undefined when there is none any more: the wait would be too long. */
  leftMs(): number | undefined;
}

class Waiter implements Turn {
  readonly #now: () => number;
  readonly process: string;
  /** When its turn comes, on the monotonic clock; undefined when it was given away. */
  atMs: number | undefined;
  /** The latest moment at which a turn is of use to it. */
  readonly latestMs: number;

  constructor(process: string, atMs: number, latestMs: number, now: () => number) {
    this.process = process;
    this.atMs = atMs;
    this.latestMs = latestMs;
    this.#now = now;
  }

  leftMs(): number | undefined {
    return this.atMs === undefined ? undefined : leftUntil(this.atMs, this.#now);
  }
}

/** The next turn of a limiter that nobody else waits for; undefined when it is further away than `maxWaitMs`. */
export function ownTurn(limiter: Limiter, now: () => number, maxWaitMs: number): Turn | undefined {
  const waitMs = limiter.reserve(maxWaitMs);
  if (waitMs === undefined) return undefined;
  const atMs = now() + waitMs;
  return { leftMs: () => leftUntil(atMs, now) };
}

/**
 * Reserved turns of one limiter, shared out in rounds: in each round every process that waits has one turn. Who comes
 * takes the turn of the first that belongs to a later round; that one and those of its process behind it move back, each
 * to the turn of the next and the last to the one that is free, until the first that would come later than it is ready to
 * wait: it has none. Each turn has one owner and was reserved of the limiter, so the limiter's promise holds.
 */
export class FairTurns {
  readonly #limiter: Limiter;
  readonly #now: () => number;
  /** By turn, earliest first. Bounded by the longest wait at the register door, at the watcher door by its sockets. */
  #waiting: Waiter[] = [];

  constructor(limiter: Limiter, now: () => number) {
    this.#limiter = limiter;
    this.#now = now;
  }

  /**
   * Reserves a turn for a process that found no permit.
   *
   * @param caller undefined: nobody knows who; all of these count as one process
   * @returns undefined, with nothing reserved, when every turn within `maxWaitMs` belongs to an earlier round
   */
  reserve(caller: Caller | undefined, maxWaitMs: number): Turn | undefined {
    const nowMs = this.#now();
    this.#waiting = this.#waiting.filter(({ atMs }) => atMs !== undefined && atMs > nowMs);
    const process = caller === undefined ? '' : processKey(caller);
    const latestMs = nowMs + maxWaitMs;
    const behind = this.#behind(process, latestMs);
    const atMs = behind[0]?.atMs ?? this.#freeUntil(latestMs, nowMs);
    if (atMs === undefined) return undefined;
    this.#moveBack(behind, nowMs);
    const waiter = new Waiter(process, atMs, latestMs, this.#now);
    this.#waiting = [...this.#waiting.filter((other) => other.atMs !== undefined), waiter].sort(byTurn);
    return waiter;
  }

  /** The first whose round is later than the one of a newcomer, and those of its process behind it; none: all are earlier. */
  #behind(newcomer: string, latestMs: number): readonly Waiter[] {
    const round = 1 + this.#waiting.filter(({ process }) => process === newcomer).length;
    const rounds = new Map<string, number>();
    const first = this.#waiting.findIndex(({ process }) => {
      const itsRound = 1 + (rounds.get(process) ?? 0);
      rounds.set(process, itsRound);
      return itsRound > round;
    });
    const found = this.#waiting[first];
    if (found?.atMs === undefined || found.atMs > latestMs) return [];
    return this.#waiting.slice(first).filter(({ process }) => process === found.process);
  }

  #moveBack(crowd: readonly Waiter[], nowMs: number): void {
    for (const [nth, waiter] of crowd.entries()) {
      const behind = crowd[nth + 1];
      const laterMs = behind === undefined ? this.#freeUntil(waiter.latestMs, nowMs) : behind.atMs;
      waiter.atMs = laterMs !== undefined && laterMs <= waiter.latestMs ? laterMs : undefined;
      if (waiter.atMs === undefined) return;
    }
  }

  /** Reserves the next free turn if it comes by then. */
  #freeUntil(latestMs: number, nowMs: number): number | undefined {
    const waitMs = this.#limiter.reserve(latestMs - nowMs);
    return waitMs === undefined ? undefined : nowMs + waitMs;
  }
}

const leftUntil = (atMs: number, now: () => number): number => Math.max(0, Math.ceil(atMs - now()));
const byTurn = (a: Waiter, b: Waiter): number => (a.atMs ?? 0) - (b.atMs ?? 0);
