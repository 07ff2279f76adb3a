// A connection of which one request at a time reaches the parser. Node's own makes all requests that came in one read, some
// thousands of them, before the first is answered: a client that pipelines would make us work as fast as it can write.
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import type { HttpPeer } from './http-peer.js';

const LF = 0x0a;
const CR = 0x0d;
/** Reads that the head of one request may come in: clients write it in one or two, and each costs us the same however little it brings. */
const MOST_READS = 64;

/** The server reads and writes this instead of the connection itself. */
export class OneAtATime extends Duplex {
  /** The peer at the other end. */
  readonly peer: HttpPeer;
  readonly #raw: Socket;
  /** Bytes after a request that is not answered, one read at most. */
  #held: Buffer | undefined;
  #isAnswering = false;
  /** The last octets were the end of a line: one that is empty ends the head of a request. */
  #isLineStart = false;
  /** Reads that the present head has come in. */
  #reads = 0;
  /** When the last request without a turn is answered. */
  #answeredAt = -Infinity;

  constructor(raw: Socket, peer: HttpPeer) {
    super({ allowHalfOpen: true });
    this.#raw = raw;
    this.peer = peer;
    raw.on('data', (chunk: Buffer) => this.#take(chunk));
    raw.on('end', () => this.push(null));
    raw.on('timeout', () => this.emit('timeout'));
    raw.on('error', (failure) => this.destroy(failure));
    raw.on('close', () => this.destroy());
  }

  /** A request was answered: the next one may come. */
  next(): void {
    this.#isAnswering = false;
    const held = this.#held;
    this.#held = undefined;
    if (this.destroyed) return;
    if (held === undefined) this.#raw.resume();
    else this.#take(held);
  }

  /**
   * A request is to be answered without a turn among those of its peer.
   *
   * @param everyMs one such request is answered on one connection in so many milliseconds
   * @returns milliseconds until it is
   */
  outOfTurn(now: number, everyMs: number): number {
    this.#answeredAt = Math.max(now, this.#answeredAt + everyMs);
    return this.#answeredAt - now;
  }

  /** As the one of a socket: `timeout` is emitted after so many milliseconds without activity. */
  setTimeout(ms: number): this {
    this.#raw.setTimeout(ms);
    return this;
  }

  /** Ends once everything is written. */
  destroySoon(): void {
    if (this.writableFinished) this.destroy();
    else this.end(() => this.destroy());
  }

  override _read(): void {
    if (this.#held === undefined) this.#raw.resume();
  }

  override _write(chunk: Buffer, _: BufferEncoding, done: (failure?: Error | null) => void): void {
    this.#raw.write(chunk, done);
  }

  override _final(done: () => void): void {
    this.#raw.end(done);
  }

  override _destroy(failure: Error | null, done: (failure: Error | null) => void): void {
    this.#held = undefined;
    this.#raw.destroy();
    done(failure);
  }

  /** Passes on the bytes of one request at most, and keeps the rest. */
  #take(chunk: Buffer): void {
    const end = this.#isAnswering ? 0 : this.#endOfHead(chunk);
    this.#reads = end === undefined ? this.#reads + 1 : 0;
    if (end === undefined) {
      if (this.#reads > MOST_READS) {
        this.destroy();
        return;
      }
      if (!this.push(chunk)) this.#raw.pause();
      return;
    }
    if (end < chunk.length) {
      this.#held = chunk.subarray(end);
      this.#raw.pause();
    }
    this.#isAnswering = true;
    if (end > 0) this.push(chunk.subarray(0, end));
  }

  /** Where the first head of a request that ends in a chunk ends; undefined: none does. */
  #endOfHead(chunk: Buffer): number | undefined {
    let isLineStart = this.#isLineStart;
    for (let at = 0; at < chunk.length; at += 1) {
      const octet = chunk[at];
      if (octet === LF && isLineStart) {
        this.#isLineStart = false;
        return at + 1;
      }
      if (octet !== CR) isLineStart = octet === LF;
    }
    this.#isLineStart = isLineStart;
    return undefined;
  }
}
