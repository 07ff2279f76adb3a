// Each turn of the event loop takes up one read of ordinary users, in turns between them: hundreds of plugins that begin at one moment
// would else make turns of a tenth of a second, and whatever goes through the loop forty times, as a registration of root or a lease
// does, would wait for some of each.

/** Octets that wait, of all users together. With more of them reads are taken up as they come: what waits is in memory. */
const MOST_WAITING = 16 * 1024 * 1024;

interface Waiting {
  readonly bytes: number;
  readonly takeUp: () => void;
}

/** The turns of all reads of ordinary users. */
export class ReadTurns {
  readonly #nextTurn: () => Promise<void>;
  /** By user; the one whose turn is next is first. None is empty. */
  readonly #users = new Map<number, Waiting[]>();
  #waitingBytes = 0;
  /** This turn of the loop has taken one up. */
  #isTaken = false;

  /** @param nextTurn resolves after the event loop has looked at its sockets once: `nextTurn` (platform/time/next-turn) */
  constructor(nextTurn: () => Promise<void>) {
    this.#nextTurn = nextTurn;
  }

  /**
   * Takes a turn for what was read of one connection, which is not to be read on before it has come.
   *
   * @param takeUp called once when the turn has come, unless it is now
   * @returns whether it is now
   */
  take(user: number, bytes: number, takeUp: () => void): boolean {
    if (!this.#isTaken) {
      this.#useTurn();
      return true;
    }
    if (this.#waitingBytes + bytes > MOST_WAITING) return true;
    const waiting = this.#users.get(user);
    if (waiting === undefined) this.#users.set(user, [{ bytes, takeUp }]);
    else waiting.push({ bytes, takeUp });
    this.#waitingBytes += bytes;
    return false;
  }

  #useTurn(): void {
    this.#isTaken = true;
    void this.#nextTurn().then(() => {
      const next = this.#next();
      this.#isTaken = next !== undefined;
      if (next === undefined) return;
      this.#useTurn();
      next.takeUp();
    });
  }

  #next(): Waiting | undefined {
    for (const [user, waiting] of this.#users) {
      this.#users.delete(user);
      const next = waiting.shift();
      if (waiting.length > 0) this.#users.set(user, waiting);
      if (next !== undefined) this.#waitingBytes -= next.bytes;
      return next;
    }
    return undefined;
  }
}
