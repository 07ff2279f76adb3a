// The queue for permits of a limit, and its order: by turns between root's side and all ordinary users together, between the
// users of a side, and between the processes of one user. Without that one process that floods, one user with many processes, or
// a person with many uids, would hold all turns up to the longest wait, and everybody else would come after it. A turn is
// assigned to a process only when it comes.
import type { Alarm, Clock } from '../kernel/clock.js';
import type { Limiter, WaitingTurn } from './limiter.js';

/** How much later than the longest wait a turn may come: timers on a busy machine are late. */
const LATE_MS = 250;

/** The taker of a turn: calls of one process come one after the other. */
export interface TurnTaker {
  /** Neither root nor the broker's own user. */
  readonly isStranger: boolean;
  readonly user: string;
  readonly process: string;
}

/** Stands for all calls that are not told apart: those of one plugin, and those whose caller nobody knows. */
export const ONE_TAKER: TurnTaker = { isStranger: false, user: '', process: '' };

/** A waiting call. */
export interface Waiting {
  /** Milliseconds until the turn, as far as is known now; others that have waited less often may come before it. */
  readonly expectedMs: number;
  /**
   * Resolves when the turn has come, its permit spent, or with false when it would come too late.
   *
   * @throws the signal's reason; the place in the line is given up
   */
  come(signal: AbortSignal): Promise<boolean>;
}

interface Waiter {
  readonly taker: TurnTaker;
  readonly deadline: Alarm | undefined;
  readonly end: (hasCome: boolean) => void;
}

/**
 * Members that take turns with each other: the sides, the users of one, the processes of one; the calls of a process keep their
 * order.
 */
class Group {
  /** The next one comes first. Empty in a process. */
  readonly members = new Map<string, Group>();
  /** Of a process, and nothing else. */
  readonly waiters: Waiter[] = [];
  /** The waiters in all of it. */
  count = 0;

  /** The member of a name, which is made where there is none. */
  member(name: string): Group {
    const known = this.members.get(name);
    if (known !== undefined) return known;
    const made = new Group();
    this.members.set(name, made);
    return made;
  }

  /** Puts a member that is still there behind all others. */
  putLast(name: string): void {
    const member = this.members.get(name);
    if (member === undefined) return;
    this.members.delete(name);
    this.members.set(name, member);
  }

  /** The member with most waiters, the last of several. */
  largest(): Group | undefined {
    let largest: Group | undefined;
    for (const member of this.members.values()) if (member.count >= (largest?.count ?? 0)) largest = member;
    return largest;
  }

  /** The waiter whose turn it is. */
  first(): Waiter | undefined {
    const [next] = this.members.values();
    return next === undefined ? this.waiters[0] : next.first();
  }

  /** The last waiter of the member that has most, down to a process. */
  last(): Waiter | undefined {
    return this.largest()?.last() ?? this.waiters.at(-1);
  }
}

/** The line of one limiter. */
export class FairTurns {
  readonly #limiter: Limiter;
  readonly #clock: Clock;
  readonly #all = new Group();
  /** One slot in the limiter's queue for each waiter; which waiter a slot serves is decided when its turn comes. */
  readonly #queueSlots = new Set<WaitingTurn>();

  constructor(limiter: Limiter, clock: Clock) {
    this.#limiter = limiter;
    this.#clock = clock;
  }

  /**
   * Joins the line of a limiter that has no permit.
   *
   * @param taker the process and user of the call
   * @param longestMs how long it can wait
   * @returns undefined when its turn would be later than that, or too many wait: refuse it now
   */
  join(taker: TurnTaker, longestMs: number): Waiting | undefined {
    const expectedMs = this.#expectedMs(taker);
    if (expectedMs > longestMs) return undefined;
    if (!this.#takesSlot() && !(this.#makeRoom(taker) && this.#takesSlot())) return undefined;
    let settle: (hasCome: boolean) => void = () => undefined;
    const ended = new Promise<boolean>((resolve) => (settle = resolve));
    const waiter: Waiter = {
      taker,
      deadline: Number.isFinite(longestMs)
        ? this.#clock.alarm(longestMs + LATE_MS, () => this.#leave(waiter))
        : undefined,
      end: (hasCome) => settle(hasCome),
    };
    let group = this.#all;
    group.count += 1;
    for (const name of namesOf(taker)) {
      group = group.member(name);
      group.count += 1;
    }
    group.waiters.push(waiter);
    return { expectedMs, come: (signal) => this.#come(waiter, ended, signal) };
  }

  /** Ends everybody's wait; nobody has come. */
  close(): void {
    for (let waiter = this.#all.first(); waiter !== undefined; waiter = this.#all.first()) this.#leave(waiter);
  }

  /** Takes a slot in the queue of the limiter, if it has one. */
  #takesSlot(): boolean {
    const slot = this.#limiter.join(() => {
      if (slot !== undefined) this.#queueSlots.delete(slot);
      this.#serveNext();
    });
    if (slot !== undefined) this.#queueSlots.add(slot);
    return slot !== undefined;
  }

  /**
   * Of the side, else the user, else the process that has most places, where that is another one with more than the newcomer's
   * has, the last to come gives its place up.
   */
  #makeRoom(taker: TurnTaker): boolean {
    let group: Group | undefined = this.#all;
    for (const name of namesOf(taker)) {
      const own: Group | undefined = group?.members.get(name);
      const most = group?.largest();
      if (most !== undefined && most !== own && most.count > (own?.count ?? 0) + 1) {
        const last = most.last();
        if (last !== undefined) this.#leave(last);
        return last !== undefined;
      }
      group = own;
    }
    return false;
  }

  /** A turn has come: the first of the process that is next has it, and then that process, its user and its side are last. */
  #serveNext(): void {
    const waiter = this.#all.first();
    if (waiter === undefined) return;
    this.#remove(waiter);
    let group: Group | undefined = this.#all;
    for (const name of namesOf(waiter.taker)) {
      if (group === undefined) break;
      group.putLast(name);
      group = group.members.get(name);
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
    const [slot] = this.#queueSlots;
    if (slot !== undefined) this.#queueSlots.delete(slot);
    slot?.leave();
    waiter.end(false);
  }

  #remove(waiter: Waiter): boolean {
    const groups = this.#groupsOf(waiter.taker);
    const waiters = groups.at(-1)?.waiters ?? [];
    const index = waiters.indexOf(waiter);
    if (index < 0) return false;
    waiters.splice(index, 1);
    const names = namesOf(waiter.taker);
    for (const [level, group] of groups.entries()) {
      group.count -= 1;
      const name = names[level];
      if (name !== undefined && groups[level + 1]?.count === 1) group.members.delete(name);
    }
    return true;
  }

  /**
   * When the turn of a newcomer would come: after one of each other process of its user for each of its own, after one of each
   * other user for each of those, itself included, and after one of the other side for each of those.
   */
  #expectedMs(taker: TurnTaker): number {
    const names = namesOf(taker);
    const groups = this.#groupsOf(taker);
    let turn = 1 + (groups[names.length]?.waiters.length ?? 0);
    for (let level = names.length - 1; level >= 0; level -= 1) {
      const own = names[level];
      const round = turn;
      for (const [name, { count }] of groups[level]?.members ?? []) if (name !== own) turn += Math.min(count, round);
    }
    const behind = this.#all.count - (turn - 1);
    return Math.max(0, this.#limiter.nextInMs() - behind * this.#limiter.settings.intervalMs);
  }

  /** All, and as far as there are such: its side, its user, its process. */
  #groupsOf(taker: TurnTaker): Group[] {
    const groups = [this.#all];
    for (const name of namesOf(taker)) {
      const member = groups.at(-1)?.members.get(name);
      if (member === undefined) break;
      groups.push(member);
    }
    return groups;
  }
}

/** From the side to the process. */
function namesOf({ isStranger, user, process }: TurnTaker): readonly string[] {
  return [isStranger ? 'strangers' : '', user, process];
}
