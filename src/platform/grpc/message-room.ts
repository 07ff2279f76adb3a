// Room for messages that are not whole yet. A list of 16 MiB whose last byte never comes is kept until it does, and a user may
// have hundreds of plugins: so that nobody fills the memory with halves, such messages of one user are taken in turn. A peer
// without room is not read, and flow control holds it back.

import { strangerUser, type UserFacts } from '../../model/ids.js';

/** Messages up to this length need no room: one for each call of all plugins is little. */
export const SMALL_BYTES = 64 * 1024;
/** The bytes that one user may have begun; a single message is always taken, however large the configuration lets it be. */
const USER_BYTES = 16 * 1024 * 1024;
/** The bytes that all users may have begun. */
const ALL_BYTES = 4 * USER_BYTES;

/** The reservation of one message. */
export interface MessageReservation {
  /** Whether it may be read on. */
  readonly isGranted: boolean;
  /** The message is whole, or nobody wants it any more. Idempotent. */
  leave(): void;
}

/** The room of one user. */
export interface UserRoom {
  /**
   * Reserves room for a message.
   *
   * @param bytes the length that was announced for it
   * @param granted called once when it may be read on, unless it may at once
   */
  take(bytes: number, granted: () => void): MessageReservation;
}

interface Waiter {
  readonly bytes: number;
  readonly granted: () => void;
  isGranted: boolean;
}

interface User {
  held: number;
  readonly waiting: Set<Waiter>;
}

/** The room of all users. */
export class MessageRoom {
  readonly #facts: UserFacts;
  /** The users that hold or wait, in the order of their turns. */
  readonly #users = new Map<number, User>();
  #held = 0;

  /** @param facts tell the ordinary users apart, whose messages need room */
  constructor(facts: UserFacts) {
    this.#facts = facts;
  }

  /** The room of a user; undefined where none is needed. */
  of(uid: number): UserRoom | undefined {
    const user = strangerUser(uid, this.#facts);
    if (user === undefined) return undefined;
    return { take: (bytes, granted) => this.#take(user, bytes, granted) };
  }

  /** The bytes that each user holds, of those that hold any. */
  held(): readonly number[] {
    return [...this.#users.values()].map(({ held }) => held).filter((held) => held > 0);
  }

  #take(uid: number, bytes: number, granted: () => void): MessageReservation {
    const user = this.#users.get(uid) ?? { held: 0, waiting: new Set() };
    this.#users.set(uid, user);
    const waiter: Waiter = { bytes, granted, isGranted: false };
    if (user.waiting.size === 0 && this.#fits(user, bytes)) this.#grant(user, waiter);
    else user.waiting.add(waiter);
    let hasLeft = false;
    return {
      get isGranted() {
        return waiter.isGranted;
      },
      leave: () => {
        if (hasLeft) return;
        hasLeft = true;
        this.#leave(uid, user, waiter);
      },
    };
  }

  #fits({ held }: User, bytes: number): boolean {
    const fitsInOwn = held === 0 || held + bytes <= USER_BYTES;
    return fitsInOwn && (this.#held === 0 || this.#held + bytes <= ALL_BYTES);
  }

  #grant(user: User, waiter: Waiter): void {
    user.waiting.delete(waiter);
    waiter.isGranted = true;
    user.held += waiter.bytes;
    this.#held += waiter.bytes;
  }

  #leave(uid: number, user: User, waiter: Waiter): void {
    user.waiting.delete(waiter);
    if (waiter.isGranted) {
      user.held -= waiter.bytes;
      this.#held -= waiter.bytes;
    }
    if (user.held === 0 && user.waiting.size === 0) this.#users.delete(uid);
    this.#serve();
  }

  /** One message of each user that waits, the users by turns, as far as there is room. */
  #serve(): void {
    for (const [uid, user] of [...this.#users]) {
      const [next] = user.waiting;
      if (next === undefined || !this.#fits(user, next.bytes)) continue;
      this.#users.delete(uid);
      this.#users.set(uid, user);
      this.#grant(user, next);
      next.granted();
    }
  }
}
