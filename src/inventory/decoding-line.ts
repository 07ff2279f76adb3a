// The line of long lists that wait to be decoded: one at a time and in a part of the time, the users of their plugins in turns.
// One user may have many such lists, and others' are not to wait for all of them.
import { sleep, type Clock } from '../kernel/clock.js';
import { restMs } from '../kernel/pace.js';

/** After a long list was decoded, so many times that long no other one is. */
const REST = 3;

/** Works that are done one after the other. */
export class DecodingLine {
  readonly #clock: Clock;
  /** By user, in the order in which they take turns, the works that wait. */
  readonly #waiting = new Map<number | undefined, (() => Promise<void>)[]>();
  #isBusy = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Does a piece of work when it is the turn of its user. @param work never rejects */
  add(user: number | undefined, work: () => Promise<void>): void {
    this.#waiting.set(user, [...(this.#waiting.get(user) ?? []), work]);
    if (!this.#isBusy) void this.#run();
  }

  async #run(): Promise<void> {
    this.#isBusy = true;
    await Promise.resolve(); // callers of this turn may bring a newer list
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      const startedAt = this.#clock.mono();
      await next();
      await sleep(this.#clock, restMs(Math.max(1, this.#clock.mono() - startedAt), REST));
    }
    this.#isBusy = false;
  }

  #next(): (() => Promise<void>) | undefined {
    const [first] = this.#waiting;
    if (first === undefined) return undefined;
    const [user, [work, ...rest]] = first;
    this.#waiting.delete(user);
    if (rest.length > 0) this.#waiting.set(user, rest);
    return work;
  }
}
