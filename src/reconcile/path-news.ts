// How often it is told that sockets of one ordinary user are not at their paths, or are there again: a directory of 250 sockets that
// is renamed to and fro is 500 changes each time, each with an event and a line of the log.
import type { Clock } from '../kernel/clock.js';
import { Pace } from '../kernel/pace.js';
import type { UserFacts } from '../model/ids.js';
import { strangerUserOf, type Instance } from '../model/instance.js';

/** Each socket of a user that has as many plugins as it may is away once: told at once. More losses take turns. */
const BURST = 256;
const INTERVAL_MS = 500;

/** The ports of the news. */
export interface PathNewsPorts extends UserFacts {
  readonly clock: Clock;
}

/** The paces of users. Root and the broker's own user have none. */
export class PathNews {
  readonly #ports: PathNewsPorts;
  readonly #paces = new Map<number, Pace>();

  constructor(ports: PathNewsPorts) {
    this.#ports = ports;
  }

  /** Milliseconds until a change of an instance's path may be told. */
  waitMs(instance: Instance): number {
    const user = strangerUserOf(instance, this.#ports);
    const pace = user === undefined ? undefined : this.#paces.get(user);
    return pace?.waitMs(INTERVAL_MS, this.#ports.clock.mono()) ?? 0;
  }

  /** It was told. */
  told(instance: Instance): void {
    const user = strangerUserOf(instance, this.#ports);
    if (user === undefined) return;
    const now = this.#ports.clock.mono();
    for (const [one, pace] of this.#paces) if (pace.isFull(now)) this.#paces.delete(one);
    const pace = this.#paces.get(user) ?? new Pace(BURST * INTERVAL_MS);
    this.#paces.set(user, pace);
    pace.book(INTERVAL_MS, now);
  }
}
