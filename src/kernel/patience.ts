// Work that may hang for ever, such as on a disk or a mount that does not answer: each waiter has a deadline.
import { withDeadline, type Clock } from './clock.js';
import { besideTrusted, FairRoom, TRUSTED } from './fair-room.js';

/**
 * Work on one part of the file system that may never answer. Each piece holds a thread of the runtime's pool, which has four by default,
 * and one that hangs holds it for as long as it likes: the checkpoint is to find one all the same, and so is the work of root beside that
 * of others, of whom one piece is under way at a time.
 */
export class Patience {
  readonly #clock: Clock;
  readonly #limitMs: number;
  readonly #room: FairRoom;
  /** Work that took too long and may never end: until it ends nothing more of the same side is begun. */
  readonly #hanging = { root: new Set<Promise<unknown>>(), others: new Set<Promise<unknown>>() };

  /**
   * @param limitMs how long anybody waits for one piece of work where nothing else is said
   * @param atOnce pieces of root's, or of nobody's, that are under way at a time
   */
  constructor(clock: Clock, limitMs: number, atOnce = 1) {
    this.#clock = clock;
    this.#limitMs = limitMs;
    this.#room = new FairRoom(besideTrusted({ trusted: atOnce, other: 1, others: 1 }));
  }

  /**
   * @param limitMs how long this piece of work is waited for, its turn included
   * @param user in whose share it is; undefined: root or the broker's user
   * @throws Error when the work takes too long, or some before it still does
   */
  soon<T>(work: (signal: AbortSignal) => Promise<T>, limitMs = this.#limitMs, user?: number): Promise<T> {
    const hanging = this.#hanging[user === undefined ? 'root' : 'others'];
    if (hanging.size > 0) return Promise.reject(new Error('the file system does not answer'));
    let running: Promise<unknown> | undefined;
    const late = (): Error => {
      if (running === undefined)
        return new Error(`the file system had no turn for it within ${String(limitMs / 1000)} s`);
      const one = running;
      hanging.add(one);
      void one.finally(() => hanging.delete(one));
      return new Error(`the file system did not answer within ${String(limitMs / 1000)} s`);
    };
    return withDeadline(this.#clock, limitMs, late, async (signal) => {
      const leave = await this.#room.take(user ?? TRUSTED, signal);
      try {
        signal.throwIfAborted(); // its turn may have come too late
        const result = work(signal);
        running = result.catch(() => undefined);
        return await result;
      } finally {
        leave();
      }
    });
  }
}
