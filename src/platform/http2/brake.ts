import type { Readable } from 'node:stream';

/** Why a socket is not read at the moment; any of them holds it. */
export const HOLD = { SERVER_FULL: 1, ANSWERS_UNREAD: 2, THROTTLED: 4, NOT_YET: 8, NO_TURN: 16 } as const;

/** Pauses a socket as long as at least one reason holds. */
export class Brake {
  readonly #socket: Readable;
  readonly #now: () => number;
  #reasons = 0;
  #since = 0;

  /**
   * @param socket read by a data listener
   * @param now milliseconds on the monotonic scale
   */
  constructor(socket: Readable, now: () => number) {
    this.#socket = socket;
    this.#now = now;
  }

  /** Since when the socket has not been read, in milliseconds on the monotonic scale; undefined while it is read. */
  get since(): number | undefined {
    return this.isOn ? this.#since : undefined;
  }

  /** Whether any reason holds. */
  get isOn(): boolean {
    return this.#reasons !== 0;
  }

  /** Whether this reason holds. */
  has(reason: number): boolean {
    return (this.#reasons & reason) !== 0;
  }

  /** A reason begins to hold. */
  hold(reason: number): void {
    if (this.#reasons === 0) {
      this.#socket.pause();
      this.#since = this.#now();
    }
    this.#reasons |= reason;
  }

  /** A reason no longer holds. */
  letGo(reason: number): void {
    if (!this.has(reason)) return;
    this.#reasons &= ~reason;
    if (this.#reasons === 0 && !this.#socket.destroyed) this.#socket.resume();
  }
}
