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

  constructor(process: string, atMs: number, now: () => number) {
    this.process = process;
    this.atMs = atMs;
    this.#now = now;
  }

  leftMs(): number | undefined {
    return this.atMs === undefined ? undefined : Math.max(0, Math.ceil(this.atMs - this.#now()));
  }
}

/** The next turn of a limiter that nobody else waits for; undefined when it is further away than `maxWaitMs`. */
export function ownTurn(limiter: Limiter, now: () => number, maxWaitMs: number): Turn | undefined {
  const waitMs = limiter.reserve(maxWaitMs);
  return waitMs === undefined ? undefined : new Waiter('', now() + waitMs, now);
}

/**
 * Reserved turns of one limiter, shared out in rounds: in each round every process that waits has one turn. Who comes
 * takes the turn of the first that belongs to a later round; that one and those of its process behind it move back, each
 * to the turn of the next, and the last takes the turn that was free, or has none. No turn is added by it, so the
 * limiter's promise holds.
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
    const behind = this.#behind(process, nowMs + maxWaitMs);
    const freeInMs = this.#limiter.reserve(maxWaitMs);
    const freeAtMs = freeInMs === undefined ? undefined : nowMs + freeInMs;
    const atMs = behind[0]?.atMs ?? freeAtMs;
    if (atMs === undefined) return undefined;
    moveBack(behind, freeAtMs);
    const waiter = new Waiter(process, atMs, this.#now);
    this.#waiting = [...this.#waiting.filter((other) => other.atMs !== undefined), waiter].sort(byTurn);
    return waiter;
  }

  /** The first whose round is later than the one of a newcomer, and those of its process behind it; none: all are earlier. */
  #behind(newcomer: string, untilMs: number): readonly Waiter[] {
    const round = 1 + this.#waiting.filter(({ process }) => process === newcomer).length;
    const rounds = new Map<string, number>();
    const first = this.#waiting.findIndex(({ process }) => {
      const itsRound = 1 + (rounds.get(process) ?? 0);
      rounds.set(process, itsRound);
      return itsRound > round;
    });
    const found = this.#waiting[first];
    if (found?.atMs === undefined || found.atMs > untilMs) return [];
    return this.#waiting.slice(first).filter(({ process }) => process === found.process);
  }
}

/** Each takes the turn of the one behind it, the last takes the free one. */
function moveBack(crowd: readonly Waiter[], freeAtMs: number | undefined): void {
  crowd.forEach((waiter, nth) => {
    waiter.atMs = nth + 1 < crowd.length ? crowd[nth + 1]?.atMs : freeAtMs;
  });
}

const byTurn = (a: Waiter, b: Waiter): number => (a.atMs ?? 0) - (b.atMs ?? 0);
