// How many calls of one process, and of one ordinary user, are taken up: after refusals, and of all calls; and how many of its
// frames that belong to none. A call that is
// answered early costs the broker time too, and further connections and processes buy none of it.
import { Pace } from '../kernel/pace.js';
import type { CallTurns, FramePace } from '../model/call-turns.js';
import { processKey, strangerUser, type Caller, type UserFacts } from '../model/ids.js';
import { entryOf } from './make-room.js';

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

/** The pace of a process that is refused again and again, and of its user, which may have several such processes. */
const REFUSED = {
  process: { intervalMs: 100, burst: 1, ahead: 256 },
  user: { intervalMs: 25, burst: 4, ahead: 2_048 },
} as const;

/** The pace of first calls on further connections of such a process: many plugins of one process may connect and be refused. */
const FIRST = {
  process: { intervalMs: 100, burst: 250, ahead: 256 },
  user: { intervalMs: 25, burst: 500, ahead: 2_048 },
} as const;

/** The pace of all calls of ordinary users, refused or not: far above the needs of plugins and of owners of leases. */
const USUAL = {
  process: { intervalMs: 10, burst: 250, ahead: 256 },
  user: { intervalMs: 5, burst: 500, ahead: 2_048 },
} as const;

/**
 * The pace of frames that no call earns (PING above all), of ordinary users: a thousand connections that are kept alive every ten
 * seconds send a tenth of it. `ahead` is 5 s: a connection is not read for that long at most.
 */
const FRAMES = {
  process: { intervalMs: 1, burst: 4_000, ahead: 5_000 },
  user: { intervalMs: 0.5, burst: 8_000, ahead: 10_000 },
} as const;

/** The paces of all processes or users of one kind. */
class Paces {
  readonly #figures: PaceFigures;
  readonly #paces = new Map<string, Pace>();

  constructor(figures: PaceFigures) {
    this.#figures = figures;
  }

  /** Milliseconds to the next turn of a process or user. */
  waitMs(name: string, now: number): number {
    return this.#of(name, now).waitMs(this.#figures.intervalMs, now);
  }

  /** Takes that turn. */
  take(name: string, now: number): void {
    this.#of(name, now).book(this.#figures.intervalMs, now);
  }

  /** Books so many at once. @returns milliseconds until they are paid */
  book(name: string, count: number, now: number): number {
    const { intervalMs, ahead } = this.#figures;
    return Math.min(intervalMs * ahead, this.#of(name, now).book(count * intervalMs, now));
  }

  #of(name: string, now: number): Pace {
    const { intervalMs, burst, ahead } = this.#figures;
    return entryOf(this.#paces, name, {
      most: MOST,
      others: OTHERS,
      open: () => new Pace(burst * intervalMs, ahead * intervalMs),
      isForgettable: (pace) => pace.isFull(now),
    });
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

/** The ports of CallPaces. Root and the broker's own user are counted by process alone, and after refusals alone. */
export interface CallPacePorts extends UserFacts {
  /** Milliseconds on the monotonic scale. */
  readonly now: () => number;
  /** Whether the flood policy enforces: one that observes paces nobody. */
  readonly isEnforced: () => boolean;
}

/** The paces of calls at one socket. */
export class CallPaces {
  readonly #ports: CallPacePorts;
  readonly #refused = new Kind(REFUSED);
  readonly #first = new Kind(FIRST);
  readonly #usual = new Kind(USUAL);
  readonly #frames = new Kind(FRAMES);

  constructor(ports: CallPacePorts) {
    this.#ports = ports;
  }

  /** The turns of a caller that was refused again and again; undefined where its process is unknown. */
  afterRefusals(caller: Caller | undefined): CallTurns | undefined {
    return this.#turns(this.#refused, caller);
  }

  /** The turns of the first call on a further connection of such a caller. */
  firstAfterRefusals(caller: Caller | undefined): CallTurns | undefined {
    return this.#turns(this.#first, caller);
  }

  /** The turns of any other; undefined of root and the broker's own user. */
  usual(caller: Caller | undefined): CallTurns | undefined {
    const isStranger = caller !== undefined && strangerUser(caller.uid, this.#ports) !== undefined;
    return isStranger ? this.#turns(this.#usual, caller) : undefined;
  }

  /** The pace of frames that no call earns; undefined of root and the broker's own user. */
  frames(caller: Caller | undefined): FramePace | undefined {
    const { now, isEnforced } = this.#ports;
    if (caller === undefined || !isEnforced()) return undefined;
    if (strangerUser(caller.uid, this.#ports) === undefined) return undefined;
    const { processes, users } = this.#frames;
    const process = processKey(caller);
    return (count) => {
      const at = now();
      const user = strangerUser(caller.uid, this.#ports);
      const userMs = user === undefined ? 0 : users.book(String(user), count, at);
      return Math.max(processes.book(process, count, at), userMs);
    };
  }

  #turns({ processes, users }: Kind, caller: Caller | undefined): CallTurns | undefined {
    const { now, isEnforced } = this.#ports;
    if (caller === undefined || !isEnforced()) return undefined;
    const process = processKey(caller);
    const stranger = (): number | undefined => strangerUser(caller.uid, this.#ports);
    const waitMs = (at: number): number => {
      const user = stranger();
      return Math.max(processes.waitMs(process, at), user === undefined ? 0 : users.waitMs(String(user), at));
    };
    const take = (at: number): void => {
      processes.take(process, at);
      const user = stranger();
      if (user !== undefined) users.take(String(user), at);
    };
    return {
      take: () => {
        const at = now();
        if (waitMs(at) > 0) return false;
        take(at);
        return true;
      },
      book: () => {
        const at = now();
        const waits = waitMs(at);
        take(at);
        return waits;
      },
    };
  }
}
