// Limits the bytes of lists a second of each ordinary user, because the bucket `updates` belongs to a session, and a user may
// have hundreds of sessions.
import type { Clock } from '../kernel/clock.js';
import { Pace } from '../kernel/pace.js';
import type { EventSink } from '../model/event.js';
import { strangerUser, type UserFacts } from '../model/ids.js';
import { Entries } from './entries.js';

/** Bytes of lists that are taken a second from one user where the broker has a whole processor, of which they cost up to a quarter. */
export const SHARE_BYTES_PER_S = 4 * 1024 * 1024;
/** Bytes that are taken then as fast as they come, as when all plugins of a user start; they are paid back with time. */
export const BURST_BYTES = 16 * 1024 * 1024;
/** So many users have all of their share at a time: of more, each has a part of it, so that they take half of a processor together. */
export const WHOLE_SHARES = 2;
/** The cost of a list beside its bytes, in bytes: an empty one is taken and told, too. */
const LIST_BYTES = 4 * 1024;
const BURST_MS = (BURST_BYTES * 1_000) / SHARE_BYTES_PER_S;
/** A user that did not have to wait for this long is reported again when it has to. */
const TOLD_MS = 60_000;

/** The ports of list shares. */
export interface SharePorts extends UserFacts {
  readonly clock: Clock;
  readonly events: EventSink;
  /** The part of one processor that the broker may use: `processorShare` (platform/process/processor-share). */
  readonly processorShare: number;
}

interface Account {
  /** `plugins of uid 4001`. */
  readonly who: string;
  readonly pace: Pace;
  /** When a list of it had to wait last, on the monotonic scale. */
  waitedAtMs: number;
}

/** A list that was booked. */
export interface BookedList {
  /** Milliseconds until it is paid, which it has to wait. */
  readonly waitMs: number;
  /** Takes it back: the list is not taken. */
  readonly giveBack: () => void;
}

const FREE: BookedList = { waitMs: 0, giveBack: () => undefined };

/** The accounts of users. */
export class ListShares {
  readonly #ports: SharePorts;
  readonly #accounts: Entries<Account>;

  constructor(ports: SharePorts) {
    this.#ports = ports;
    this.#accounts = new Entries({
      isForgettable: ({ pace, waitedAtMs }) => {
        const nowMs = ports.clock.mono();
        return pace.isFull(nowMs) && nowMs - waitedAtMs >= TOLD_MS;
      },
    });
  }

  /** Books a list of a user. @param uid root and the broker's user pay nothing */
  book(uid: number, bytes: number): BookedList {
    const user = strangerUser(uid, this.#ports);
    if (user === undefined) return FREE;
    const nowMs = this.#ports.clock.mono();
    const account = this.#accounts.of(String(user), (isShared) => ({
      who: isShared ? 'plugins of further users' : `plugins of uid ${String(user)}`,
      pace: new Pace(BURST_MS),
      waitedAtMs: -Infinity,
    }));
    const cost = (costMs(bytes) * this.#crowding(account, nowMs)) / this.#ports.processorShare;
    const waitMs = account.pace.book(cost, nowMs);
    if (waitMs > 0) this.#waits(account, nowMs);
    return { waitMs, giveBack: () => account.pace.giveBack(cost) };
  }

  /** By how much lists cost more because other users owe for theirs: those that use little owe at moments only. */
  #crowding(account: Account, nowMs: number): number {
    const owing = this.#accounts.all().filter((one) => one === account || !one.pace.isFull(nowMs));
    return Math.max(1, owing.length / WHOLE_SHARES);
  }

  /** Told once for as long as it goes on. */
  #waits(account: Account, nowMs: number): void {
    const isNews = nowMs - account.waitedAtMs >= TOLD_MS;
    account.waitedAtMs = nowMs;
    if (!isNews) return;
    const mebibytes = (SHARE_BYTES_PER_S * this.#ports.processorShare) / 1024 / 1024;
    const share = `${String(Number(mebibytes.toPrecision(2)))} MiB a second`;
    const message = `${account.who} send more bytes of lists than their share, at most ${share}; their lists wait for it, and only the newest of each plugin is taken`;
    this.#ports.events.record({ type: 'flood', reason: '', message });
  }
}

function costMs(bytes: number): number {
  return ((bytes + LIST_BYTES) * 1_000) / SHARE_BYTES_PER_S;
}
