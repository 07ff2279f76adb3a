// How many calls of one process, and of one ordinary user, are taken up: after refusals, and whatever becomes of them. What is
// answered before anybody looks at it costs the broker time too, and further connections and processes buy none of it.
import type { CallTurns } from '../model/call-turns.js';
import { processKey, type Caller, type UserOf } from '../model/ids.js';
import { makeRoom } from './make-room.js';

/** Processes, and users, that are followed at most of each kind; newcomers past that share one pace. */
const MOST = 1_024;
const OTHERS = 'others';

/** How often a call is taken up. */
interface PaceFigures {
  readonly intervalMs: number;
  /** Calls at once after a pause. */
  readonly burst: number;
  /** Turns that are given ahead at most: of no process, and of no user, do more connections wait (flood.connections). */
  readonly ahead: number;
}

/** Of one that is refused again and again; a user may have several such processes. */
const REFUSED = {
  process: { intervalMs: 100, burst: 1, ahead: 256 },
  user: { intervalMs: 25, burst: 4, ahead: 2_048 },
} as const;

/** Of the first call of each further connection of such a process: many plugins of one may connect at once, and be refused. */
const FIRST = {
  process: { intervalMs: 100, burst: 250, ahead: 256 },
  user: { intervalMs: 25, burst: 500, ahead: 2_048 },
} as const;

/** Of ordinary users whatever comes of their calls: far above what plugins, and owners of leases, do. */
const USUAL = {
  process: { intervalMs: 10, burst: 250, ahead: 256 },
  user: { intervalMs: 5, burst: 500, ahead: 2_048 },
} as const;

/** Turns at even intervals; those that were not used are kept, up to the burst. */
class Pace {
  readonly #figures: PaceFigures;
  #nextMs = 0;

  constructor(figures: PaceFigures) {
    this.#figures = figures;
  }

  /** Milliseconds to the next turn. */
  waitMs(now: number): number {
    const { intervalMs, burst } = this.#figures;
    return Math.max(0, this.#nextMs - (burst - 1) * intervalMs - now);
  }

  /** Takes the next turn. */
  take(now: number): void {
    const { intervalMs, burst, ahead } = this.#figures;
    const latestMs = now + (burst + ahead) * intervalMs;
    this.#nextMs = Math.min(Math.max(this.#nextMs, now) + intervalMs, latestMs);
  }

  /** Nothing of it was used lately. */
  isFull(now: number): boolean {
    return this.#nextMs <= now;
  }
}

/** The paces of all processes or users of one kind. */
class Paces {
  readonly #figures: PaceFigures;
  readonly #paces = new Map<string, Pace>();

  constructor(figures: PaceFigures) {
    this.#figures = figures;
  }

  of(name: string, now: number): Pace {
    const known = this.#paces.get(name);
    if (known !== undefined) return known;
    const isFull = this.#paces.size >= MOST && makeRoom(this.#paces, (pace) => pace.isFull(now)) === undefined;
    const key = isFull ? OTHERS : name;
    const pace = this.#paces.get(key) ?? new Pace(this.#figures);
    this.#paces.set(key, pace);
    return pace;
  }
}

/** Processes and users together. */
class Kind {
  readonly processes: Paces;
  readonly users: Paces;

  constructor({ process, user }: { readonly process: PaceFigures; readonly user: PaceFigures }) {
    this.processes = new Paces(process);
    this.users = new Paces(user);
  }
}

/** What is needed. */
export interface CallPacePorts {
  /** Milliseconds on the monotonic scale. */
  readonly now: () => number;
  /** Whether a uid is root's or the broker's own: those are counted by process alone, and after refusals alone. */
  readonly isTrusted: (uid: number) => boolean;
  /** Who counts as one user. */
  readonly userOf: UserOf;
  /** Whether the flood policy enforces: one that observes paces nobody. */
  readonly isEnforced: () => boolean;
}

/** The paces of calls at one socket. */
export class CallPaces {
  readonly #ports: CallPacePorts;
  readonly #refused = new Kind(REFUSED);
  readonly #first = new Kind(FIRST);
  readonly #usual = new Kind(USUAL);

  constructor(ports: CallPacePorts) {
    this.#ports = ports;
  }

  /** The turns of one that was refused again and again; undefined where nobody knows who it is. */
  afterRefusals(caller: Caller | undefined): CallTurns | undefined {
    return caller === undefined || !this.#ports.isEnforced() ? undefined : this.#turns(this.#refused, caller);
  }

  /** The same of the first call of a further connection of it. */
  firstAfterRefusals(caller: Caller | undefined): CallTurns | undefined {
    return caller === undefined || !this.#ports.isEnforced() ? undefined : this.#turns(this.#first, caller);
  }

  /** The turns of any other; undefined of root and the broker's own user. */
  usual(caller: Caller | undefined): CallTurns | undefined {
    if (caller === undefined || this.#ports.isTrusted(caller.uid) || !this.#ports.isEnforced()) return undefined;
    return this.#turns(this.#usual, caller);
  }

  #turns({ processes, users }: Kind, caller: Caller): CallTurns {
    const { now, isTrusted, userOf } = this.#ports;
    const paces = (at: number): Pace[] => {
      const { uid, pid } = caller;
      const own = processes.of(pid === undefined ? `uid ${String(uid)}` : processKey(caller), at);
      return isTrusted(uid) ? [own] : [own, users.of(String(userOf(uid)), at)];
    };
    const longest = (all: readonly Pace[], at: number): number => Math.max(...all.map((pace) => pace.waitMs(at)));
    return {
      take: () => {
        const at = now();
        const all = paces(at);
        if (longest(all, at) > 0) return false;
        for (const pace of all) pace.take(at);
        return true;
      },
      book: () => {
        const at = now();
        const all = paces(at);
        const waitMs = longest(all, at);
        for (const pace of all) pace.take(at);
        return waitMs;
      },
    };
  }
}
