// How many calls of one process, and of one ordinary user, are taken up: after refusals, and of all calls. A call that is
// answered early costs the broker time too, and further connections and processes buy none of it.
import type { CallTurns } from '../model/call-turns.js';
import { processKey, strangerUser, type Caller } from '../model/ids.js';
import { accountsOf, type AccountsOf, type PacePorts } from './accounts.js';

/**
 * The pace of a process that is refused again and again, and of its user, which may have several such processes. Of no process, and
 * of no user, do more connections wait (flood.connections) than turns are given `ahead`.
 */
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

/** The paces of calls at one socket. */
export class CallPaces {
  readonly #ports: PacePorts;
  readonly #refused: AccountsOf;
  readonly #first: AccountsOf;
  readonly #usual: AccountsOf;

  constructor(ports: PacePorts) {
    this.#ports = ports;
    this.#refused = accountsOf(REFUSED, ports);
    this.#first = accountsOf(FIRST, ports);
    this.#usual = accountsOf(USUAL, ports);
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

  #turns(of: AccountsOf, caller: Caller | undefined): CallTurns | undefined {
    const { now, isEnforced } = this.#ports;
    if (caller === undefined || !isEnforced()) return undefined;
    const own = (): ReturnType<AccountsOf> => of(caller.uid, processKey(caller));
    const book = (): number => {
      const at = now();
      return Math.max(...own().map((one) => one.book(1, at)));
    };
    const isFree = (): boolean => own().every((one) => one.waitMs(now()) === 0);
    return { book, take: () => isFree() && book() === 0 };
  }
}
