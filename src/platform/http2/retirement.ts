// How a connection is closed without harming a call: ask the peer to open no more, let the open ones finish, then close.

/** A call may be under way while the peer is being asked; after this none is. */
const LINGER_MS = 1_000;

/** The steps of one connection's leave. Pure: times come in. */
export class Retirement {
  #since: number | undefined;
  #askedAt: number | undefined;
  #isOver = false;

  /** Since when it is to leave; undefined while it may stay. */
  get since(): number | undefined {
    return this.#since;
  }

  /** When it may be closed at the earliest; undefined before the peer was asked, and after it was closed. */
  get mayCloseAt(): number | undefined {
    return this.#askedAt === undefined || this.#isOver ? undefined : this.#askedAt + LINGER_MS;
  }

  /** It is to leave. Returns false when that was said before. */
  begin(now: number): boolean {
    if (this.#since !== undefined) return false;
    this.#since = now;
    return true;
  }

  /** The next step, each once; called whenever something has changed. @param canSpeak whether a frame may be put in now */
  step(now: number, canSpeak: boolean, openCalls: number): 'ask' | 'close' | undefined {
    if (this.#since === undefined || this.#isOver || !canSpeak) return undefined;
    if (this.#askedAt === undefined) {
      this.#askedAt = now;
      return 'ask';
    }
    if (openCalls > 0 || now < this.#askedAt + LINGER_MS) return undefined;
    this.#isOver = true;
    return 'close';
  }
}
