// The server's bytes, on their way to the peer. Node sends the end of an answer (its trailers) a turn or two of the loop after
// the message, in a write of its own, and the peer is woken twice: a message waits so long for its end.
import type { Writable } from 'node:stream';
import { nextTurn } from '../time/next-turn.js';
import { joinSmall, writeTogether } from './pieces.js';

/** More than this is worth a write of its own. */
const WAITING_BYTES = 4096;
/** Trailers are asked for in the turn in which the message was taken or in the next one, and written in the one after that. */
const TURNS = 3;

/** Writes to a socket in order. */
export class Outlet {
  readonly #socket: Writable;
  readonly #sent: () => void;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #isArmed = false;

  /** @param sent called when something has left */
  constructor(socket: Writable, sent: () => void) {
    this.#socket = socket;
    this.#sent = sent;
  }

  /**
   * Writes pieces, at least one, after all before.
   *
   * @param isHalf whether the end of an answer is still to come
   * @param done called when they have left, or wait for the next ones: then the server may go on
   */
  write(pieces: readonly Buffer[], isHalf: boolean, done: () => void): void {
    const bytes = this.#waitingBytes + pieces.reduce((sum, { length }) => sum + length, 0);
    const all = joinSmall([...this.#waiting, ...pieces]);
    this.#waiting = [];
    this.#waitingBytes = 0;
    if (isHalf && bytes <= WAITING_BYTES && this.#socket.writableLength === 0) {
      this.#waiting = [...all];
      this.#waitingBytes = bytes;
      this.#flushSoon();
      done();
      return;
    }
    writeTogether(this.#socket, all, () => {
      this.#sent();
      done();
    });
  }

  /** Writes waiting bytes. */
  flush(): void {
    if (this.#waiting.length === 0 || this.#socket.destroyed) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#waitingBytes = 0;
    writeTogether(this.#socket, joinSmall(waiting), this.#sent);
  }

  /** Ends it after all that was written. */
  end(): void {
    this.flush();
    this.#socket.end();
  }

  #flushSoon(): void {
    if (this.#isArmed) return;
    this.#isArmed = true;
    this.#flushAfter(TURNS);
  }

  /** A loop that waits for turns does not rest: where all has left by then, there is nothing to wait for. */
  #flushAfter(turns: number): void {
    void nextTurn().then(() => {
      this.#isArmed = turns > 1 && this.#waiting.length > 0;
      if (this.#isArmed) this.#flushAfter(turns - 1);
      else this.flush();
    });
  }
}
