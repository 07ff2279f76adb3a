// How long calls about devices of an ordinary user's plugins may keep the kubelet. It admits the pods of a node one after the other, so a
// plugin that is slow, or gone each time it is asked, has the pods of everybody wait, without ever letting a call time out.
import type { Clock } from '../kernel/clock.js';
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

/** The ports. */
export interface KeptWaitingPorts {
  readonly clock: Pick<Clock, 'mono'>;
  /** The ordinary user whose plugin speaks for a resource; undefined: it is root's, or the broker's own user's, and has no limit. */
  readonly userOf: (resource: string) => number | undefined;
}

/** The time that users' plugins keep the kubelet, of all resources. */
export class KeptWaiting {
  readonly #ports: KeptWaitingPorts;
  readonly #users = new Map<number, Pace>();

  constructor(ports: KeptWaitingPorts) {
    this.#ports = ports;
  }

  /** The ordinary user of a resource, as in the ports. */
  userOf(resource: string): number | undefined {
    return this.#ports.userOf(resource);
  }

  /** Milliseconds until a call about a resource may be passed on; 0: now. */
  waitMs(resource: string): number {
    const user = this.#ports.userOf(resource);
    return user === undefined ? 0 : (this.#users.get(user)?.waitMs(0, this.#ports.clock.mono()) ?? 0);
  }

  /** Does what keeps the kubelet, and counts how long that takes. */
  async during<T>(resource: string, work: () => Promise<T>): Promise<T> {
    const user = this.#ports.userOf(resource);
    if (user === undefined) return work();
    const since = this.#ports.clock.mono();
    try {
      return await work();
    } finally {
      this.#book(user, this.#ports.clock.mono() - since - FREE_MS);
    }
  }

  #book(user: number, ms: number): void {
    if (ms <= 0) return;
    const now = this.#ports.clock.mono();
    const account = this.#users.get(user) ?? new Pace(BURST_MS * TIMES, MOST_DEBT_MS * TIMES);
    account.book(ms * TIMES, now);
    this.#users.delete(user);
    this.#users.set(user, account);
    for (const [one, known] of this.#users)
      if (known.isFull(now) || this.#users.size > MOST_USERS) this.#users.delete(one);
  }
}
