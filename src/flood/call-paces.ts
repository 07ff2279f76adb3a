// How many calls of one process, and of one ordinary user, are taken up: after refusals, and of all calls; and how many of its
// frames that belong to none. A call that is
// answered early costs the broker time too, and further connections and processes buy none of it.
import { Pace } from '../kernel/pace.js';
import type { CallTurns, FramePace } from '../model/call-turns.js';
import { processKey, strangerUser, type Caller, type UserFacts } from '../model/ids.js';
import { Entries } from './entries.js';

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

/** The pace of one process or user. */
class Account {
  readonly #intervalMs: number;
  readonly #pace: Pace;
  /** The longest wait for a turn. */
  readonly aheadMs: number;

  constructor({ intervalMs, burst, ahead }: PaceFigures) {
    this.#intervalMs = intervalMs;
    this.aheadMs = ahead * intervalMs;
    this.#pace = new Pace(burst * intervalMs, this.aheadMs);
  }

  /** Milliseconds to the next turn. */
  waitMs(now: number): number {
    return this.#pace.waitMs(this.#intervalMs, now);
  }

  /** Takes so many turns. @returns milliseconds until they come */
  book(count: number, now: number): number {
    return this.#pace.book(count * this.#intervalMs, now);
  }

  isFull(now: number): boolean {
    return this.#pace.isFull(now);
  }
}

/** The ports of CallPaces. Root and the broker's own user are counted by process alone, and after refusals alone. */
export interface CallPacePorts extends UserFacts {
  /** Milliseconds on the monotonic scale. */
  readonly now: () => number;
  /** Whether the flood policy enforces: one that observes paces nobody. */
  readonly isEnforced: () => boolean;
}

/** The accounts of a caller: of its process, and of its user if that is an ordinary one. */
type AccountsOf = (process: string, caller: Caller) => readonly Account[];

function accountsOf(
  figures: { readonly process: PaceFigures; readonly user: PaceFigures },
  ports: CallPacePorts,
): AccountsOf {
  const keeping = { isForgettable: (account: Account) => account.isFull(ports.now()) };
  const [processes, users] = [new Entries<Account>(keeping), new Entries<Account>(keeping)];
  return (process, { uid }) => {
    const user = strangerUser(uid, ports);
    const own = processes.of(process, () => new Account(figures.process));
    return user === undefined ? [own] : [own, users.of(String(user), () => new Account(figures.user))];
  };
}

/** The paces of calls at one socket. */
export class CallPaces {
  readonly #ports: CallPacePorts;
  readonly #refused: AccountsOf;
  readonly #first: AccountsOf;
  readonly #usual: AccountsOf;
  readonly #frames: AccountsOf;

  constructor(ports: CallPacePorts) {
    this.#ports = ports;
    this.#refused = accountsOf(REFUSED, ports);
    this.#first = accountsOf(FIRST, ports);
    this.#usual = accountsOf(USUAL, ports);
    this.#frames = accountsOf(FRAMES, ports);
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
    return this.#isStranger(caller) ? this.#turns(this.#usual, caller) : undefined;
  }

  /** The pace of frames that no call earns; undefined of root and the broker's own user. */
  frames(caller: Caller | undefined): FramePace | undefined {
    const { now, isEnforced } = this.#ports;
    if (!isEnforced() || !this.#isStranger(caller)) return undefined;
    const process = processKey(caller);
    return (count) => {
      const at = now();
      const waits = this.#frames(process, caller).map((one) => Math.min(one.aheadMs, one.book(count, at)));
      return Math.max(...waits);
    };
  }

  #isStranger(caller: Caller | undefined): caller is Caller {
    return caller !== undefined && strangerUser(caller.uid, this.#ports) !== undefined;
  }

  #turns(of: AccountsOf, caller: Caller | undefined): CallTurns | undefined {
    const { now, isEnforced } = this.#ports;
    if (caller === undefined || !isEnforced()) return undefined;
    const process = processKey(caller);
    const book = (): number => {
      const at = now();
      return Math.max(...of(process, caller).map((one) => one.book(1, at)));
    };
    const isFree = (): boolean => of(process, caller).every((one) => one.waitMs(now()) === 0);
    return { book, take: () => isFree() && book() === 0 };
  }
}
