// The pace of what ordinary users send that no call earns, over all connections of a user: those that it opens, and those that the
// broker opens to its plugins. A connection has budgets of its own, but a user may have hundreds of connections.
import type { FramePace } from '../model/call-turns.js';
import { strangerUser } from '../model/ids.js';
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

/** The paces of all users. */
export class FramePaces {
  readonly #ports: PacePorts;
  readonly #accounts: AccountsOf;

  constructor(ports: PacePorts) {
    this.#ports = ports;
    this.#accounts = accountsOf(FRAMES, ports);
  }

  /** The pace of a user, and of its process where that is known; undefined of root and the broker's own user. */
  readonly of = (uid: number | undefined, process?: string): FramePace | undefined => {
    const { now, isEnforced } = this.#ports;
    if (uid === undefined || strangerUser(uid, this.#ports) === undefined) return undefined;
    return (count) => {
      if (!isEnforced()) return 0;
      const at = now();
      const waits = this.#accounts(uid, process).map((one) => Math.min(one.aheadMs, one.book(count, at)));
      return Math.max(...waits);
    };
  };
}
