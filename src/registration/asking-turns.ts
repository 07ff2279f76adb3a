// When a registration socket may be asked for its name: a directory may be full of sockets, most of them dead.
import type { Clock } from '../kernel/clock.js';
import { FairRoom } from '../kernel/fair-room.js';
import { isTrusted } from '../model/ids.js';

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
  readonly #room: FairRoom;

  /** @param ownUid uid of the broker */
  constructor(clock: Clock, ownUid: number) {
    this.#clock = clock;
    this.#ownUid = ownUid;
    this.#room = new FairRoom({ ...ASKED_AT_ONCE, isTrusted: (uid) => isTrusted(uid, ownUid) });
  }

  /**
   * Waits until a socket may be asked, one of many of its owner.
   *
   * @param owner of a socket, as discovery found it: the user that can fill its directory
   * @returns lets the next one, later where it was in vain
   * @throws the signal's reason when it aborts before
   */
  async take(owner: number, signal: AbortSignal): Promise<(inVain: boolean) => void> {
    const leave = await this.#room.take(owner, signal);
    return (inVain) => {
      if (inVain && !isTrusted(owner, this.#ownUid)) this.#clock.alarm(IN_VAIN_MS, leave);
      else leave();
    };
  }

  /** Whether further sockets of an owner wait for their turn. */
  isCrowded(owner: number): boolean {
    return this.#room.waiting(owner) > 0;
  }
}
