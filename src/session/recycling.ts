// Removes plugins' sockets so that they register afresh as after a restart of the kubelet, and each not too often.
import type { Clock } from '../kernel/clock.js';
import { enterLast } from '../kernel/enter-last.js';
import type { Enrolment } from '../model/plugin.js';
import type { SocketRemover } from './ports.js';

/** The socket of a plugin is removed at most this often. */
const RECYCLE_EVERY_MS = 60_000;
/** Times kept: one per plugin name, oldest dropped. */
const MAX_RECYCLED = 4096;

/** Why a socket was not removed, and the milliseconds until it may be, where that is a matter of time. */
export type NotRecycled = { readonly why: string; readonly againInMs?: number };

/** Remembers when it removed which plugin's socket. */
export class Recycling {
  readonly #remover: SocketRemover;
  readonly #clock: Clock;
  readonly #recycledAt = new Map<string, number>();

  constructor(remover: SocketRemover, clock: Clock) {
    this.#remover = remover;
    this.#clock = clock;
  }

  /** Removes the socket of a plugin, unless that was done to its plugin within the last minute. */
  recycle({ name, endpoint }: Enrolment): NotRecycled | undefined {
    const now = this.#clock.mono();
    const againInMs = (this.#recycledAt.get(name) ?? -Infinity) + RECYCLE_EVERY_MS - now;
    if (againInMs > 0) return { why: 'that was done less than a minute ago', againInMs };
    const why = this.#remover.remove(endpoint);
    if (why !== undefined) return { why };
    enterLast(this.#recycledAt, name, now, MAX_RECYCLED);
    return undefined;
  }
}
