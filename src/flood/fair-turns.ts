// Who waits for permits of a limit, and in which order: by turns between processes. Without that one process that floods
// would hold all turns up to the longest wait, and everybody else would come after it. A turn is nobody's until it
// comes; then the process whose turn it is has it.
import type { Alarm, Clock } from '../kernel/clock.js';
import type { Limiter, WaitingTurn } from './limiter.js';

/** How much later than the longest wait a turn may come: what timers need on a busy machine. */
const LATE_MS = 250;

/** The process of calls that are not told apart: those of one plugin, and those whose process nobody knows. */
export const ONE_LINE = '';

/** Somebody who waits. */
export interface Waiting {
  /** Milliseconds until the turn, as far as is known now; others may come who have waited less often. */
  readonly expectedMs: number;
  /**
   * Resolves when the turn has come, its permit spent, or with false when it would come too late.
   *
   * @throws the signal's reason; the place in the line is given up
   */
  come(signal: AbortSignal): Promise<boolean>;
}

interface Waiter {
  readonly process: string;
  readonly deadline: Alarm | undefined;
  readonly end: (hasCome: boolean) => void;
}

/** The line of one limiter. */
export class FairTurns {
  readonly #limiter: Limiter;
  readonly #clock: Clock;
  /** Who waits, by process; the process that is next comes first. */
  readonly #byProcess = new Map<string, Waiter[]>();
  /** As many places in the line of the limiter as there are waiters; whose a place is, is seen when its turn comes. */
  readonly #places = new Set<WaitingTurn>();

  constructor(limiter: Limiter, clock: Clock) {
    this.#limiter = limiter;
    this.#clock = clock;
  }

  /**
   * Joins the line of a limiter that has no permit.
   *
   * @param process who it is; a process waits in one line of its own, and the lines take turns
   * @param longestMs how long it can wait
   * @returns undefined when its turn would be later than that, or too many wait: refuse it now
   */
  join(process: string, longestMs: number): Waiting | undefined {
    const expectedMs = this.#expectedMs(process);
    if (expectedMs > longestMs) return undefined;
    const place = this.#limiter.join(() => {
      if (place !== undefined) this.#places.delete(place);
      this.#serveNext();
    });
    if (place === undefined) return undefined;
    this.#places.add(place);
    let settle: (hasCome: boolean) => void = () => undefined;
    const ended = new Promise<boolean>((resolve) => (settle = resolve));
    const waiter: Waiter = {
      process,
      deadline: Number.isFinite(longestMs)
        ? this.#clock.alarm(longestMs + LATE_MS, () => this.#leave(waiter))
        : undefined,
      end: (hasCome) => settle(hasCome),
    };
    const before = this.#byProcess.get(process);
    if (before === undefined) this.#byProcess.set(process, [waiter]);
    else before.push(waiter);
    return { expectedMs, come: (signal) => this.#come(waiter, ended, signal) };
  }

  /** Ends everybody's wait; nobody has come. */
  close(): void {
    for (const waiters of [...this.#byProcess.values()]) for (const waiter of [...waiters]) this.#leave(waiter);
  }

  /** A turn has come: the first of the process that is next has it, and then that process is last. */
  #serveNext(): void {
    const [next] = this.#byProcess.values();
    const waiter = next?.[0];
    if (waiter === undefined) return;
    this.#remove(waiter);
    const others = this.#byProcess.get(waiter.process);
    if (others !== undefined) {
      this.#byProcess.delete(waiter.process);
      this.#byProcess.set(waiter.process, others);
    }
    waiter.deadline?.cancel();
    waiter.end(true);
  }

  async #come(waiter: Waiter, ended: Promise<boolean>, signal: AbortSignal): Promise<boolean> {
    const leave = (): void => this.#leave(waiter);
    signal.addEventListener('abort', leave, { once: true });
    if (signal.aborted) leave();
    try {
      const hasCome = await ended;
      signal.throwIfAborted();
      return hasCome;
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  #leave(waiter: Waiter): void {
    if (!this.#remove(waiter)) return;
    waiter.deadline?.cancel();
    const [place] = this.#places;
    if (place !== undefined) this.#places.delete(place);
    place?.leave();
    waiter.end(false);
  }

  #remove(waiter: Waiter): boolean {
    const waiters = this.#byProcess.get(waiter.process) ?? [];
    const index = waiters.indexOf(waiter);
    if (index < 0) return false;
    waiters.splice(index, 1);
    if (waiters.length === 0) this.#byProcess.delete(waiter.process);
    return true;
  }

  /** When somebody who joins now would come: after one of each other process for each of its own, itself included. */
  #expectedMs(process: string): number {
    const round = 1 + (this.#byProcess.get(process)?.length ?? 0);
    let ahead = round - 1;
    let waiting = round - 1;
    for (const [other, { length }] of this.#byProcess) {
      if (other === process) continue;
      ahead += Math.min(length, round);
      waiting += length;
    }
    return Math.max(0, this.#limiter.nextInMs() - (waiting - ahead) * this.#limiter.settings.intervalMs);
  }
}
