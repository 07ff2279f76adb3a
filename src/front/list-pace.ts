// When the next list goes to the kubelet. It writes and syncs its checkpoint for each list it gets, so lists are sent a
// second apart; one in which a device stopped being healthy goes at once, on account of later ones. Pure.
import { Pace } from '../kernel/pace.js';

/** Lists are this far apart. */
const EVERY_MS = 1000;
/** So many lists may go ahead of their time: a flapping device must not become a flood of its own. */
const AHEAD = 3;

/** The pace of one resource. */
export class ListPace {
  /** Permits earned ahead are for urgent lists alone. */
  readonly #pace = new Pace(AHEAD * EVERY_MS);

  /** Milliseconds to wait before a list may go. */
  waitMs(now: number, isUrgent: boolean): number {
    return this.#pace.waitMs(isUrgent ? 0 : AHEAD * EVERY_MS, now);
  }

  /** A list went. */
  sent(now: number): void {
    this.#pace.book(EVERY_MS, now);
  }
}
