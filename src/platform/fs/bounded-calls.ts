// Calls that a thread makes, each with a deadline: what a directory, or one user's directories, may cost us.
import { fstatSync } from 'node:fs';
import path from 'node:path';
import { ifPossible } from '../../kernel/if-possible.js';
import { strangerUser, UNANSWERED, type UserFacts } from '../../model/ids.js';
import type { Libc } from '../peer/libc.js';
import { CallThread, type CallName } from './call-thread.js';

/** What makes the calls. */
export type Calls = Pick<CallThread, 'call' | 'isOver'>;

/**
 * For how long the kernel may keep a call waiting, which takes microseconds, and tens of milliseconds where the disk has to be read; and
 * for how long in all at once, and for which part of the time after that.
 */
interface Patience {
  readonly deadlineMs: number;
  readonly burstMs: number;
  readonly part: number;
}
/**
 * With all directories of root and of our own, and what the kernel shows of their processes: anybody that may read them holds as many of
 * them as there are, and chooses when they are looked at.
 */
const PATIENCE: Patience = { deadlineMs: 250, burstMs: 1000, part: 0.02 };
/** All directories of one ordinary user, whose calls and nobody else's are refused then: fewer than one call of others in a hundred waits for it. */
const PATIENCE_WITH_USER: Patience = { deadlineMs: 100, burstMs: 500, part: 0.005 };
/**
 * One of root's that kept us waiting for so long, less a part of the time since then, is taken to be held: it is asked with a short
 * deadline, since it answers at once when it is let go, and not at all while the patience is used up. The others are asked then with
 * that deadline.
 */
const HELD_FROM_MS = 100;
const SHORT_MS = 20;
/**
 * Threads that hang in directories of root and of our own; in what the kernel shows of their processes; and in what is of ordinary users,
 * of whom one has two at most.
 */
const MOST_LATE = 8;
/** Directories and users that kept us waiting and are remembered. */
const MOST_WAITS = 1024;

/** A path through a descriptor of ours: the kernel's cache has no way through /proc. */
export const THROUGH = /^\/proc\/self\/fd\/(\d+)(?:\/(.*))?$/s;

/** A call that hangs, and where. */
interface Late {
  readonly thread: Calls;
  readonly places: readonly string[];
}

/** Calls with a deadline. */
export class BoundedCalls {
  /** Asks the cache of the kernel; undefined without koffi. */
  readonly libc: Pick<Libc, 'openCached'> | undefined;
  readonly #now: () => number;
  readonly #users: UserFacts;
  readonly #begin: () => Calls | undefined;
  #thread: Calls | undefined;
  #late: readonly Late[] = [];
  /** For how long each place kept us waiting, less its part of the time since then. */
  readonly #waits = new Map<string, { readonly ms: number; readonly at: number }>();

  /**
   * @param users tells whose directories are one place: those of all uids of an ordinary user, which may have tens of thousands
   * @param begin a thread that takes calls; undefined: the system has none for us now
   */
  constructor(
    now: () => number,
    users: UserFacts,
    libc: Pick<Libc, 'openCached'> | undefined,
    begin: () => Calls | undefined = () => begun(now),
  ) {
    this.libc = libc;
    this.#now = now;
    this.#users = users;
    this.#begin = begin;
    this.#thread = begin();
  }

  /** The thread that makes the calls now. */
  get thread(): Calls | undefined {
    return this.#thread;
  }

  /** Whether a call hangs. */
  get isLate(): boolean {
    if (this.#late.length > 0) this.#late = this.#late.filter(({ thread }) => !thread.isOver);
    return this.#late.length > 0 || CallThread.isLookingAtOne;
  }

  /**
   * Makes a call.
   *
   * @param places where: `placesOf` the paths that it goes by
   * @throws NodeJS.ErrnoException of the call; UNANSWERED where it does not return in time, or one there has not
   */
  call(name: CallName, args: readonly unknown[], places: readonly string[]): unknown {
    const isHeld = this.isLate && this.#late.some((late) => late.places.some((one) => places.includes(one)));
    if (isHeld || places.some((one) => this.#isFull(one) || this.#deadlineAt(one) === 0)) throw unanswered(name, args);
    if (this.#thread?.isOver === true) this.#thread = undefined;
    const thread = (this.#thread ??= this.#begin());
    if (thread === undefined) throw unanswered(name, args);
    return this.#made(thread, name, args, places);
  }

  /**
   * Closes a folder that a thread opened, and never throws: one that hangs is closed when its call has returned. No place is refused
   * it, since nobody would close it later; but where it kept us waiting, that counts there.
   *
   * @param places those of the folder
   */
  closeFolder(thread: Calls | undefined, id: number, places: readonly string[]): void {
    // That of a thread that hangs is closed by that thread.
    if (thread !== undefined && thread === this.#thread && !thread.isOver)
      ifPossible(() => this.#made(thread, 'closeFolder', [id], places));
  }

  #made(thread: Calls, name: CallName, args: readonly unknown[], places: readonly string[]): unknown {
    const mostMs = Math.min(...places.map((one) => Math.max(this.#deadlineAt(one), SHORT_MS)), PATIENCE.deadlineMs);
    const { answer, keptMs } = thread.call(name, args, mostMs);
    const kept = places.every(isOfUser) ? places : [...places, OF_ROOT];
    if (keptMs > 0) for (const one of kept) this.#note(one, keptMs);
    if (answer === undefined) {
      this.#late = [...this.#late, { thread, places }];
      // The next call finds it begun.
      this.#thread = this.#begin();
      throw unanswered(name, args);
    }
    if ('value' in answer) return answer.value;
    throw Object.assign(new Error(answer.failure.message), answer.failure);
  }

  /** Where calls by these paths are made, which lead through open descriptors now. An ordinary user's directories are one place. */
  placesOf(...paths: readonly string[]): readonly string[] {
    return paths.map((at) => this.#placeOf(at));
  }

  /**
   * The place of what the kernel shows of a process or group of a user. Root's and our own are places of their own: anybody may hold
   * each, and the others are to be seen meanwhile.
   */
  placeShown(at: string, uid: number): string {
    const user = strangerUser(uid, this.#users);
    return user === undefined ? `${SHOWN}${path.dirname(at)}` : `${SHOWN_OF_USER}${String(user)}`;
  }

  #placeOf(at: string): string {
    const [, fd] = THROUGH.exec(at) ?? [];
    if (fd === undefined) return path.dirname(at);
    const { dev, ino, uid } = fstatSync(Number(fd), { bigint: true });
    const user = strangerUser(Number(uid), this.#users);
    return user === undefined ? `${String(dev)}:${String(ino)}` : `${OF_USER}${String(user)}`;
  }

  /** Whether as many calls hang in what may be held in the same way as may. */
  #isFull(place: string): boolean {
    const kind = kindOf(place);
    return this.#late.filter(({ places }) => places.some((one) => kindOf(one) === kind)).length >= MOST_LATE;
  }

  /** For how long a call may hang there now; 0: it is refused. */
  #deadlineAt(place: string): number {
    if (isOfUser(place)) {
      const { deadlineMs, burstMs } = PATIENCE_WITH_USER;
      return this.#waitOf(place) < burstMs ? deadlineMs : 0;
    }
    const leftMs = PATIENCE.burstMs - this.#waitOf(OF_ROOT);
    if (this.#waitOf(place) >= HELD_FROM_MS) return leftMs > 0 ? SHORT_MS : 0;
    return Math.min(PATIENCE.deadlineMs, Math.max(leftMs, SHORT_MS));
  }

  #waitOf(place: string): number {
    const wait = this.#waits.get(place);
    return wait === undefined
      ? 0
      : wait.ms - (this.#now() - wait.at) * (place === OF_ROOT ? PATIENCE : PATIENCE_WITH_USER).part;
  }

  #note(place: string, keptMs: number): void {
    const ms = Math.max(0, this.#waitOf(place)) + keptMs;
    this.#waits.delete(place);
    for (const one of this.#waits.keys())
      if (this.#waits.size >= MOST_WAITS || this.#waitOf(one) <= 0) this.#waits.delete(one);
    this.#waits.set(place, { ms, at: this.#now() });
  }
}

/** How a user's directories are named as a place. */
const OF_USER = 'uid ';
/** And what the kernel shows of a user: whoever holds that keeps nobody from the user's directories. */
const SHOWN_OF_USER = `${OF_USER}shown `;
/** And of a process or group of root's. */
const SHOWN = 'shown ';
/** What all of root's and our own has kept us waiting. */
const OF_ROOT = 'root';

function isOfUser(place: string): boolean {
  return place.startsWith(OF_USER);
}

function kindOf(place: string): string | undefined {
  return [OF_USER, SHOWN].find((kind) => place.startsWith(kind));
}

/** A thread; undefined where the system has none for us now. */
function begun(now: () => number): CallThread | undefined {
  return ifPossible(() => new CallThread(now));
}

/** The failure of a call that was not made, or has not returned. */
export function unanswered(call: string, args: readonly unknown[]): NodeJS.ErrnoException {
  const message = `${UNANSWERED}: the directory does not answer, as if somebody held its lock: ${call} ${JSON.stringify(args)}`;
  return Object.assign(new Error(message), { code: UNANSWERED });
}
