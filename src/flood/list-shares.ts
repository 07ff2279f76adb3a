// What the lists of one user may cost: a share of bytes a second for each user that is neither root nor the broker's. The
// bucket `updates` is a session's, and a user may have hundreds of sessions; reading their lists takes time from everybody.
import type { Clock } from '../kernel/clock.js';
import { Pace } from '../kernel/pace.js';
import type { EventSink } from '../model/event.js';
import { isTrusted, type UserOf } from '../model/ids.js';

/** Bytes of lists that are taken a second from one user, which cost a few percent of a core. */
export const SHARE_BYTES_PER_S = 4 * 1024 * 1024;
/** So many are taken as fast as they come, as when all plugins of a user start; they are paid back with time. */
export const BURST_BYTES = 16 * 1024 * 1024;
/** What a list costs beside its bytes, in bytes: one without any is taken and told, too. */
const LIST_BYTES = 4 * 1024;
const BURST_MS = (BURST_BYTES * 1_000) / SHARE_BYTES_PER_S;
/** A user that had not to wait for this long is told of anew. */
const TOLD_MS = 60_000;
/** Accounts above this number are closed as soon as they are paid. */
const FEW_ACCOUNTS = 64;

/** What shares need. */
export interface SharePorts {
  readonly clock: Clock;
  readonly events: EventSink;
  /** The user of the broker. */
  readonly ownUid: number;
  readonly userOf: UserOf;
}

interface Account {
  readonly pace: Pace;
  /** When a list of it had to wait last, on the monotonic scale. */
  waitedAtMs: number;
}

/** The accounts of users; one is open until it is paid. */
export class ListShares {
  readonly #ports: SharePorts;
  readonly #accounts = new Map<number, Account>();

  constructor(ports: SharePorts) {
    this.#ports = ports;
  }

  /**
   * Books a list of a user.
   *
   * @param uid root and the broker's user pay nothing
   * @returns milliseconds until it is paid, which it has to wait
   */
  book(uid: number, bytes: number): number {
    const { clock, ownUid, userOf } = this.#ports;
    if (isTrusted(uid, ownUid)) return 0;
    const user = userOf(uid);
    const nowMs = clock.mono();
    if (this.#accounts.size >= FEW_ACCOUNTS) this.#closePaid(nowMs);
    const account = this.#accounts.get(user) ?? { pace: new Pace(BURST_MS), waitedAtMs: -Infinity };
    this.#accounts.set(user, account);
    const waitMs = account.pace.book(costMs(bytes), nowMs);
    if (waitMs === 0) return 0;
    const isNews = nowMs - account.waitedAtMs >= TOLD_MS;
    account.waitedAtMs = nowMs;
    if (isNews) this.#tell(user);
    return waitMs;
  }

  /** Takes back what was booked for a list that is not taken. */
  giveBack(uid: number, bytes: number): void {
    this.#accounts.get(this.#ports.userOf(uid))?.pace.giveBack(costMs(bytes));
  }

  #closePaid(nowMs: number): void {
    for (const [user, { pace }] of this.#accounts) if (pace.isFull(nowMs)) this.#accounts.delete(user);
  }

  #tell(user: number): void {
    const share = `${String(SHARE_BYTES_PER_S / 1024 / 1024)} MiB a second`;
    const message = `plugins of uid ${String(user)} send more bytes of lists than its share of ${share}; their lists wait for it, and only the newest of each plugin is taken`;
    this.#ports.events.record({ type: 'flood', reason: '', message });
  }
}

function costMs(bytes: number): number {
  return ((bytes + LIST_BYTES) * 1_000) / SHARE_BYTES_PER_S;
}
