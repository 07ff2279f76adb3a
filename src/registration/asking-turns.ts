// When a registration socket may be asked for its name: a directory may be full of sockets, most of them dead.
import type { Clock } from '../kernel/clock.js';
import { FairSlots } from '../kernel/fair-slots.js';
import { isTrusted, type UserOf } from '../model/ids.js';
import type { PinnedSocket } from '../model/plugin.js';

/**
 * Registration sockets that are asked at one time: those of root and of the broker, those of one uid beside them, and
 * those of all others. Each takes descriptors, and a dead or hanging one takes time.
 */
const ASKED_AT_ONCE = { trusted: 256, other: 16, others: 64 };
/**
 * A refused or unanswered attempt goes on to count for this long, so that sockets that are dead, or renamed to be asked again,
 * have a pace.
 */
const IN_VAIN_MS = 400;

/** Turns of sockets, by owner. */
export class AskingTurns {
  readonly #clock: Clock;
  readonly #ownUid: number;
  readonly #userOf: UserOf;
  readonly #slots: FairSlots;

  /**
   * @param ownUid uid of the broker
   * @param userOf maps a uid to the uid that stands for its user
   */
  constructor(clock: Clock, ownUid: number, userOf: UserOf) {
    this.#userOf = userOf;
    this.#clock = clock;
    this.#ownUid = ownUid;
    this.#slots = new FairSlots({ ...ASKED_AT_ONCE, isTrusted: (uid) => isTrusted(uid, ownUid) });
  }

  /**
   * Waits until a socket may be asked, one of many of its owner.
   *
   * @returns lets the next one, later where it was in vain
   * @throws the signal's reason when it aborts before
   */
  async take({ uid }: Pick<PinnedSocket, 'uid'>, signal: AbortSignal): Promise<(inVain: boolean) => void> {
    const leave = await this.#slots.take(this.#userOf(uid), signal);
    return (inVain) => {
      if (inVain && !isTrusted(uid, this.#ownUid)) this.#clock.alarm(IN_VAIN_MS, leave);
      else leave();
    };
  }

  /** Whether further sockets of its owner wait for their turn. */
  isCrowded({ uid }: Pick<PinnedSocket, 'uid'>): boolean {
    return this.#slots.waiting(this.#userOf(uid)) > 0;
  }
}
