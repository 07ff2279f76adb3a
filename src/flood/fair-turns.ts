// Who waits for permits of a limit, and in which order: by turns between users, and between the processes of one user.
// Without that one process that floods, or one user with many processes, would hold all turns up to the longest wait, and
// everybody else would come after it. A turn is nobody's until it comes; then the process whose turn it is has it.
import type { Alarm, Clock } from '../kernel/clock.js';
import type { Limiter, WaitingTurn } from './limiter.js';

/** How much later than the longest wait a turn may come: what timers need on a busy machine. */
const LATE_MS = 250;

/** Whose turn a call takes: calls of one process come one after the other. */
export interface Line {
  readonly user: string;
  readonly process: string;
}

/** The line of calls that are not told apart: those of one plugin, and those whose caller nobody knows. */
export const ONE_LINE: Line = { user: '', process: '' };

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
  readonly line: Line;
  readonly deadline: Alarm | undefined;
  readonly end: (hasCome: boolean) => void;
}

/** The line of one limiter. */
export class FairTurns {
  readonly #limiter: Limiter;
  readonly #clock: Clock;
  /** Who waits, by user and process; the user that is next comes first, and so does its process. */
  readonly #byUser = new Map<string, Map<string, Waiter[]>>();
  /** As many places in the line of the limiter as there are waiters; whose a place is, is seen when its turn comes. */
  readonly #places = new Set<WaitingTurn>();

  constructor(limiter: Limiter, clock: Clock) {
    this.#limiter = limiter;
    this.#clock = clock;
  }

  /**
   * Joins the line of a limiter that has no permit.
   *
   * @param line who it is; the lines of a user take turns, and so do users
   * @param longestMs how long it can wait
   * @returns undefined when its turn would be later than that, or too many wait: refuse it now
   */
  join(line: Line, longestMs: number): Waiting | undefined {
    const expectedMs = this.#expectedMs(line);
    if (expectedMs > longestMs) return undefined;
    if (!this.#hasPlace() && !(this.#makeRoom(line.user) && this.#hasPlace())) return undefined;
    let settle: (hasCome: boolean) => void = () => undefined;
    const ended = new Promise<boolean>((resolve) => (settle = resolve));
    const waiter: Waiter = {
      line,
      deadline: Number.isFinite(longestMs)
        ? this.#clock.alarm(longestMs + LATE_MS, () => this.#leave(waiter))
        : undefined,
      end: (hasCome) => settle(hasCome),
    };
    const processes = this.#byUser.get(line.user) ?? new Map<string, Waiter[]>();
    this.#byUser.set(line.user, processes);
    const before = processes.get(line.process);
    if (before === undefined) processes.set(line.process, [waiter]);
    else before.push(waiter);
    return { expectedMs, come: (signal) => this.#come(waiter, ended, signal) };
  }

  /** Ends everybody's wait; nobody has come. */
  close(): void {
    const all = [...this.#byUser.values()].flatMap((processes) => [...processes.values()].flat());
    for (const waiter of all) this.#leave(waiter);
  }

  /** Takes a place in the line of the limiter, if it has one. */
  #hasPlace(): boolean {
    const place = this.#limiter.join(() => {
      if (place !== undefined) this.#places.delete(place);
      this.#serveNext();
    });
    if (place !== undefined) this.#places.add(place);
    return place !== undefined;
  }

  /** Of the user that has most places, where that is another one with more than `user` has, the last to come gives its place up. */
  #makeRoom(user: string): boolean {
    const [most, count] = this.#largest();
    if (most === undefined || most === user || count <= this.#countOf(user) + 1) return false;
    const last = [...(this.#byUser.get(most)?.values() ?? [])].at(-1)?.at(-1);
    if (last !== undefined) this.#leave(last);
    return last !== undefined;
  }

  #largest(): [user: string | undefined, count: number] {
    let largest: [string | undefined, number] = [undefined, 0];
    for (const user of this.#byUser.keys()) {
      const count = this.#countOf(user);
      if (count > largest[1]) largest = [user, count];
    }
    return largest;
  }

  #countOf(user: string): number {
    let count = 0;
    for (const { length } of this.#byUser.get(user)?.values() ?? []) count += length;
    return count;
  }

  /** A turn has come: the first of the process that is next has it, and then that process, and its user, are last. */
  #serveNext(): void {
    const [processes] = this.#byUser.values();
    const [next] = processes?.values() ?? [];
    const waiter = next?.[0];
    if (processes === undefined || waiter === undefined) return;
    this.#remove(waiter);
    putLast(processes, waiter.line.process);
    putLast(this.#byUser, waiter.line.user);
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
    const { user, process } = waiter.line;
    const processes = this.#byUser.get(user);
    const waiters = processes?.get(process) ?? [];
    const index = waiters.indexOf(waiter);
    if (processes === undefined || index < 0) return false;
    waiters.splice(index, 1);
    if (waiters.length === 0) processes.delete(process);
    if (processes.size === 0) this.#byUser.delete(user);
    return true;
  }

  /**
   * When somebody who joins now would come: after one of each other process of its user for each of its own, and after one
   * of each other user for each of those, itself included.
   */
  #expectedMs({ user, process }: Line): number {
    const own = this.#byUser.get(user) ?? new Map<string, Waiter[]>();
    const round = 1 + (own.get(process)?.length ?? 0);
    let ahead = round - 1;
    for (const [other, { length }] of own) if (other !== process) ahead += Math.min(length, round);
    const turn = ahead + 1;
    let waiting = 0;
    for (const other of this.#byUser.keys()) {
      const count = this.#countOf(other);
      waiting += count;
      if (other !== user) ahead += Math.min(count, turn);
    }
    return Math.max(0, this.#limiter.nextInMs() - (waiting - ahead) * this.#limiter.settings.intervalMs);
  }
}

/** Puts what is still there behind all others. */
function putLast<T>(map: Map<string, T>, key: string): void {
  const value = map.get(key);
  if (value === undefined) return;
  map.delete(key);
  map.set(key, value);
}
