// The line of leases that wait to be asked of one plugin: a few at once, the users in turns. A plugin may take its time, and one user's
// requests are not to stand before everybody's.

/** Leases asked of one plugin at once. */
const AT_ONCE = 8;
/** Those of one ordinary user. */
const AT_ONCE_OF_USER = 4;

/** An ordinary user; undefined: root, or the broker's own. */
type User = number | undefined;

/** One plugin's line. */
export class PluginLine {
  readonly #running = new Map<User, number>();
  /** By user, in the order in which they take turns. */
  readonly #waiting = new Map<User, Set<() => void>>();
  #count = 0;
  #wasRootsTurn = false;

  /** Nobody is asked for, and nobody waits. */
  get isEmpty(): boolean {
    return this.#count === 0;
  }

  /** Waits for a turn, which `end` ends. @returns false: the signal aborted before it came */
  async begin(user: User, signal: AbortSignal): Promise<boolean> {
    if (this.#mayRun(user)) {
      this.#run(user, 1);
      return true;
    }
    const waiting = this.#waiting.get(user) ?? new Set();
    this.#waiting.set(user, waiting);
    const hasCome = await turnIn(waiting, signal);
    if (!hasCome && waiting.size === 0 && this.#waiting.get(user) === waiting) this.#waiting.delete(user);
    return hasCome;
  }

  /** A turn is over: the next one begins. */
  end(user: User): void {
    this.#run(user, -1);
    const users = [...this.#waiting].filter(([one, { size }]) => size > 0 && this.#mayRun(one)).map(([one]) => one);
    // Each second turn is root's, as long as it waits.
    const next = users.includes(undefined) && !this.#wasRootsTurn ? undefined : users.find((one) => one !== undefined);
    const waiting = this.#waiting.get(next);
    const [go] = waiting ?? [];
    if (waiting === undefined || go === undefined || !this.#mayRun(next)) return;
    this.#wasRootsTurn = next === undefined;
    this.#waiting.delete(next);
    if (waiting.size > 1) this.#waiting.set(next, waiting);
    this.#run(next, 1);
    go();
  }

  #mayRun(user: User): boolean {
    return this.#count < AT_ONCE && (user === undefined || (this.#running.get(user) ?? 0) < AT_ONCE_OF_USER);
  }

  #run(user: User, by: 1 | -1): void {
    this.#count += by;
    const running = (this.#running.get(user) ?? 0) + by;
    if (running > 0) this.#running.set(user, running);
    else this.#running.delete(user);
  }
}

/** Whether the turn came before its waiter left. */
function turnIn(waiting: Set<() => void>, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const over = (isMine: boolean): void => {
      waiting.delete(come);
      signal.removeEventListener('abort', leave);
      resolve(isMine);
    };
    const come = (): void => over(true);
    const leave = (): void => over(false);
    waiting.add(come);
    signal.addEventListener('abort', leave, { once: true });
    if (signal.aborted) leave();
  });
}
