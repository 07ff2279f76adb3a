// How long calls about devices of an ordinary user's plugins may keep the kubelet. It admits the pods of a node one after the other, so a
// plugin that is slow, or gone each time it is asked, has the pods of everybody wait, without ever letting a call time out. Pure: the time comes in.
import { Pace } from '../kernel/pace.js';

/** A call may take so long and costs nothing: a kubelet takes longer for a container itself, and each container has several calls. */
const FREE_MS = 10;
/** For so long in all a user's plugins may keep the kubelet at once, one Allocate of ten seconds among it, and for a tenth of the time. */
const BURST_MS = 15_000;
const TIMES = 10;
/** The longest debt: of the call that took what was left. A broker that was stopped meanwhile books no more than that either. */
const MOST_DEBT_MS = 10_000;
/** Users that are remembered; those that owe nothing are forgotten. */
const MOST_USERS = 1024;

/** The time that ordinary users' plugins keep the kubelet, of all resources. */
export class KeptWaiting {
  readonly #users = new Map<number, Pace>();

  /** Milliseconds until a call to a plugin of a user may be passed on; 0: now. */
  waitMs(user: number, now: number): number {
    return this.#users.get(user)?.waitMs(0, now) ?? 0;
  }

  /** The kubelet waited so long for a call to a plugin of a user. */
  book(user: number, tookMs: number, now: number): void {
    if (tookMs <= FREE_MS) return;
    const account = this.#users.get(user) ?? new Pace(BURST_MS * TIMES, MOST_DEBT_MS * TIMES);
    account.book((tookMs - FREE_MS) * TIMES, now);
    this.#users.delete(user);
    this.#users.set(user, account);
    for (const [one, known] of this.#users)
      if (known.isFull(now) || this.#users.size > MOST_USERS) this.#users.delete(one);
  }
}
