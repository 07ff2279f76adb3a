// Room for messages that are not whole yet. A list of 16 MiB whose last byte never comes is kept until it does, and a user may
// have hundreds of plugins: so that nobody fills the memory with halves, such messages of one user are taken in turn. A peer
// without room is not read, and flow control holds it back.
import { FairRoom, type Place } from '../../kernel/fair-room.js';
import { strangerUser, type UserFacts } from '../../model/ids.js';

/** Messages up to this length need no room: one for each call of all plugins is little. */
export const SMALL_BYTES = 64 * 1024;
/** The bytes that one user may have begun; a single message is always taken, however large the configuration lets it be. */
const USER_BYTES = 16 * 1024 * 1024;
/** The bytes that all users may have begun. */
const ALL_BYTES = 4 * USER_BYTES;

/** The reservation of one message: given back when it is whole, or nobody wants it any more. */
export type MessageReservation = Place;

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

/** The room of all users. */
export class MessageRoom {
  readonly #facts: UserFacts;
  readonly #room = new FairRoom({ trusted: 0, other: USER_BYTES, others: ALL_BYTES, isTrusted: () => false });

  /** @param facts tell the ordinary users apart, whose messages need room */
  constructor(facts: UserFacts) {
    this.#facts = facts;
  }

  /** The room of a user; undefined where none is needed. */
  of(uid: number): UserRoom | undefined {
    const user = strangerUser(uid, this.#facts);
    if (user === undefined) return undefined;
    return { take: (bytes, granted) => this.#room.enter(user, bytes, granted) };
  }

  /** The bytes that each user holds, of those that hold any. */
  held(): readonly number[] {
    return this.#room.held();
  }
}
