// Takes lists from a stream at the pace of the flood policy: on its turn the newest list that has arrived; between turns nothing
// is read, so the plugin is held back by flow control.
import type { ListStream } from './ports.js';
import type { ListPacer } from '../model/flood.js';

/** A turn takes up to this many bytes or messages, whichever is more. */
const TURN_BYTES = 256 * 1024;
const TURN_MESSAGES = 4;
/** Small messages weigh nothing and cost nearly as much as large ones: an empty list has no byte at all. */
const MAX_TURN_MESSAGES = 256;

/** The result of one turn. */
export interface Turn {
  readonly newest: Buffer;
  /** Messages taken, the newest among them. */
  readonly taken: number;
  /** The pace was exceeded and the policy says disconnect; the list is to be applied before. */
  readonly exceeded: boolean;
}

/** Reads a stream in turns. */
export class UpdateTurns {
  readonly #stream: ListStream;
  readonly #pacer: ListPacer;
  readonly #nextTurn: () => Promise<void>;
  #pending: Promise<Buffer | undefined> | undefined;

  /** @param nextTurn resolves after the event loop has looked at its sockets once: `nextTurn` (platform/time/next-turn) */
  constructor(stream: ListStream, pacer: ListPacer, nextTurn: () => Promise<void>) {
    this.#stream = stream;
    this.#pacer = pacer;
    this.#nextTurn = nextTurn;
  }

  /**
   * Waits for a list and for its permit, then takes the newest one.
   *
   * @returns undefined when the stream has ended
   * @throws the signal's reason
   */
  async next(signal: AbortSignal): Promise<Turn | undefined> {
    let newest = await this.#read();
    if (newest === undefined) return undefined;
    if (!this.#pacer.tryTake()) {
      if (this.#pacer.onExceed === 'disconnect') return { newest, taken: 1, exceeded: true };
      if (!(await this.#pacer.nextTurn(signal))) return undefined;
    }
    await this.#pacer.room(newest.length, signal);
    let taken = 1;
    let bytes = newest.length;
    while (taken < TURN_MESSAGES || (bytes < TURN_BYTES && taken < MAX_TURN_MESSAGES)) {
      const more = await this.#arrived();
      if (more === undefined) break;
      newest = more;
      taken += 1;
      bytes += more.length;
      this.#pacer.spend(more.length);
    }
    return { newest, taken, exceeded: false };
  }

  async #read(): Promise<Buffer | undefined> {
    const pending = this.#pending ?? this.#stream.read();
    this.#pending = undefined;
    return pending;
  }

  /** A message that is already there, or undefined; the read that found none stays open for the next turn. */
  async #arrived(): Promise<Buffer | undefined> {
    const read = (this.#pending ??= this.#stream.read());
    const none = Symbol('not arrived');
    const soon = this.#nextTurn()
      .then(() => this.#nextTurn())
      .then(() => none);
    const message = await Promise.race([read, soon]);
    if (typeof message === 'symbol') return undefined;
    if (message === undefined) return undefined; // the end: found again by the next read
    this.#pending = undefined;
    return message;
  }
}
