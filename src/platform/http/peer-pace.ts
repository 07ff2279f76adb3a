// So many requests of one peer: a few at once, then one each interval; whoever wants more waits for its turn.

/** Requests of one address at once, and one more each so many milliseconds. */
const BURST = 40;
const INTERVAL_MS = 50;
/** Addresses that are remembered. */
const MOST_PEERS = 1024;

/** The pace of each peer, by address. Pure: the time comes in. */
export class PeerPace {
  /** When the budget of a peer is full again, monotonic milliseconds. */
  readonly #fullAt = new Map<string, number>();

  /** Takes a turn. Returns in how many milliseconds it comes; 0 is now. */
  waitMs(peer: string, now: number): number {
    const fullAt = Math.max(now, this.#fullAt.get(peer) ?? now) + INTERVAL_MS;
    this.#fullAt.delete(peer);
    this.#fullAt.set(peer, fullAt);
    if (this.#fullAt.size > MOST_PEERS) this.#forget(now);
    return Math.max(0, fullAt - now - BURST * INTERVAL_MS);
  }

  #forget(now: number): void {
    for (const [peer, at] of this.#fullAt) if (at <= now) this.#fullAt.delete(peer);
    for (const peer of this.#fullAt.keys()) {
      if (this.#fullAt.size <= MOST_PEERS) return;
      this.#fullAt.delete(peer);
    }
  }
}
