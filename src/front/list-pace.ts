// When the next list goes to the kubelet. It writes and syncs its checkpoint for each list it gets, so lists are sent a
// second apart; one in which a device stopped being healthy goes at once, on account of later ones. Pure.

/** Lists are this far apart. */
const EVERY_MS = 1000;
/** So many lists may go ahead of their time: a flapping device must not become a flood of its own. */
const AHEAD = 3;

/** The pace of one resource. */
export class ListPace {
  /** When the next list is due; it may lie further ahead than one period, by the lists sent ahead of their time. */
  #dueAt = -Infinity;

  /** Milliseconds to wait before a list may go. */
  waitMs(now: number, isUrgent: boolean): number {
    const wait = this.#dueAt - now;
    return Math.max(0, isUrgent ? wait - AHEAD * EVERY_MS : wait);
  }

  /** A list went. */
  sent(now: number): void {
    this.#dueAt = Math.max(this.#dueAt, now) + EVERY_MS;
  }
}
