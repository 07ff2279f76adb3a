// How ordinary users are read, over all connections of one: those that it opens, and those that the broker opens to its plugins. A
// connection has budgets of its own, but a user may have hundreds of connections.
import type { ReadPace } from '../model/call-turns.js';
import { strangerUser } from '../model/ids.js';
import { ReadTurns } from './read-turns.js';
import { accountsOf, type AccountsOf, type PacePorts } from './accounts.js';

/**
 * Frames (PING above all) and reads that no call earns: a thousand connections of a user that are kept alive every ten seconds
 * cause a third of it. A read takes as long as some frames, however few octets it brings. `ahead` is 5 s: a connection is not read for that long
 * at most.
 */
const FRAMES = {
  process: { intervalMs: 1, burst: 4_000, ahead: 5_000 },
  user: { intervalMs: 0.5, burst: 8_000, ahead: 10_000 },
} as const;

/**
 * Octets of requests that are not complete, of all callers of one user. Requests are hundreds of octets long, and come whole; a thousand
 * connections that begin as much as each may are a quarter of a GiB.
 */
const KEPT_BYTES = 8 * 1024 * 1024;

/** The paces of all users. */
export class ReadPaces {
  readonly #ports: PacePorts;
  readonly #accounts: AccountsOf;
  readonly #turns: ReadTurns;
  /** Octets of requests that are not complete, by user. */
  readonly #kept = new Map<number, number>();

  /** @param nextTurn resolves after the event loop has looked at its sockets once: `nextTurn` (platform/time/next-turn) */
  constructor(ports: PacePorts & { readonly nextTurn: () => Promise<void> }) {
    this.#ports = ports;
    this.#turns = new ReadTurns(ports.nextTurn);
    this.#accounts = accountsOf(FRAMES, ports);
  }

  /** The pace of a user, and of its process where that is known; undefined of root, the broker's own user, and one that is unknown. */
  readonly of = (uid: number | undefined, process?: string): ReadPace | undefined => {
    const { now, isEnforced } = this.#ports;
    const user = uid === undefined ? undefined : strangerUser(uid, this.#ports);
    if (uid === undefined || user === undefined) return undefined;
    return {
      unearned: (count) => {
        if (!isEnforced()) return 0;
        const at = now();
        const waits = this.#accounts(uid, process).map((one) => Math.min(one.aheadMs, one.book(count, at)));
        return Math.max(...waits);
      },
      takeUp: (bytes, turnHasCome) => !isEnforced() || this.#turns.take(user, bytes, turnHasCome),
      keep: (change) => this.#keep(user, change) > KEPT_BYTES && isEnforced(),
    };
  };

  #keep(user: number, change: number): number {
    const bytes = (this.#kept.get(user) ?? 0) + change;
    if (bytes > 0) this.#kept.set(user, bytes);
    else this.#kept.delete(user);
    return bytes;
  }
}
