// From the server to the client: looks at the heads of frames as they pass, and holds nothing.
import type { Calls } from './calls.js';
import { ERROR, FLAG, FRAME, HEAD_BYTES, readHead, readSettings, SETTING, type FrameHead } from './frames.js';
import type { Guard } from './guard.js';
import type { ServerSettings } from './inbound.js';

/** Follows the answers of one server. */
export class Outbound {
  readonly #guard: Guard;
  readonly #calls: Calls;
  readonly #announce: (settings: ServerSettings) => void;
  readonly #head = Buffer.alloc(HEAD_BYTES);
  #headBytes = 0;
  #passing = 0;
  #current: FrameHead | undefined;
  /** The payload of a frame that is read: SETTINGS, RST_STREAM, GOAWAY. */
  #payload: Buffer[] = [];
  #hasBegun = false;
  #isInBlock = false;
  #refusal: number | undefined;
  #hasFailedCall = false;

  /** @param announce called with the contents of each SETTINGS frame */
  constructor(guard: Guard, calls: Calls, announce: (settings: ServerSettings) => void) {
    this.#guard = guard;
    this.#calls = calls;
    this.#announce = announce;
  }

  /** Whether a frame of ours may be put in here: the server has begun and is between two frames. */
  get isBetweenFrames(): boolean {
    return this.#hasBegun && this.#passing === 0 && this.#headBytes === 0 && !this.#isInBlock;
  }

  /** Whether the last octets were a message that does not end its answer: the trailers are about to follow, or more messages. */
  get isHalfAnswered(): boolean {
    const head = this.#current;
    return this.isBetweenFrames && head?.type === FRAME.DATA && (head.flags & FLAG.END_STREAM) === 0;
  }

  /** The error with which the server gave the connection up (RFC 9113 5.4.1); undefined while it has not. */
  get refusal(): number | undefined {
    return this.#refusal;
  }

  /** Whether the server failed a call itself, as Node does with every call before it drops a connection. */
  get hasFailedCall(): boolean {
    return this.#hasFailedCall;
  }

  /**
   * Sees the next octets of the server.
   *
   * @param now milliseconds on the monotonic scale
   * @throws PeerFault MADE_YOU_RESET
   */
  see(chunk: Buffer, now: number): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#passing > 0) {
        at += this.#pass(chunk, at, now);
        continue;
      }
      at += this.#takeHead(chunk, at, now);
    }
  }

  #takeHead(chunk: Buffer, at: number, now: number): number {
    const taken = chunk.copy(this.#head, this.#headBytes, at, at + HEAD_BYTES - this.#headBytes);
    this.#headBytes += taken;
    if (this.#headBytes < HEAD_BYTES) return taken;
    this.#headBytes = 0;
    this.#hasBegun = true;
    const head = readHead(this.#head, 0);
    this.#current = head;
    this.#passing = head.length;
    if (head.type === FRAME.DATA) {
      this.#calls.sent(head.stream, head.length, now);
      this.#guard.dataSent(head.length);
    }
    if (head.type === FRAME.HEADERS || head.type === FRAME.CONTINUATION) {
      this.#isInBlock = (head.flags & FLAG.END_HEADERS) === 0;
    }
    if (head.length === 0) this.#frameEnded(head, now);
    return taken;
  }

  #pass(chunk: Buffer, at: number, now: number): number {
    const length = Math.min(chunk.length - at, this.#passing);
    this.#passing -= length;
    const head = this.#current;
    if (head === undefined) return length;
    if (head.type === FRAME.SETTINGS || head.type === FRAME.RST_STREAM || head.type === FRAME.GOAWAY) {
      this.#payload.push(chunk.subarray(at, at + length));
    }
    if (this.#passing === 0) this.#frameEnded(head, now);
    return length;
  }

  #frameEnded(head: FrameHead, now: number): void {
    const payload = this.#payload.length === 1 ? this.#payload[0] : undefined;
    switch (head.type) {
      case FRAME.DATA:
      case FRAME.HEADERS:
        this.#calls.answering(head.stream);
        if ((head.flags & FLAG.END_STREAM) !== 0 && this.#calls.answered(head.stream, now)) this.#guard.callCompleted();
        return;
      case FRAME.RST_STREAM:
        this.#reset(head.stream, payload ?? this.#joined(), now);
        break;
      case FRAME.GOAWAY:
        this.#goaway(payload ?? this.#joined());
        break;
      case FRAME.SETTINGS:
        if ((head.flags & FLAG.ACK) === 0) this.#settings(payload ?? this.#joined());
        break;
      default:
        return;
    }
    this.#payload = [];
  }

  #joined(): Buffer {
    return Buffer.concat(this.#payload);
  }

  /** Resetting without an error is how a server says that it needs no more of a request (RFC 9113 8.1). */
  #reset(stream: number, payload: Buffer, now: number): void {
    this.#payload = [];
    this.#calls.reset(stream, now);
    const error = payload.length >= 4 ? payload.readUInt32BE(0) : ERROR.NO_ERROR;
    this.#hasFailedCall ||= error === ERROR.INTERNAL_ERROR;
    if (error !== ERROR.NO_ERROR) this.#guard.count('answeredResets');
  }

  #goaway(payload: Buffer): void {
    const error = payload.length >= 8 ? payload.readUInt32BE(4) : ERROR.NO_ERROR;
    if (error !== ERROR.NO_ERROR) this.#refusal = error;
  }

  #settings(payload: Buffer): void {
    const settings = new Map(readSettings(payload));
    const calls = settings.get(SETTING.MAX_CONCURRENT_STREAMS);
    if (calls !== undefined) this.#calls.limit(calls);
    this.#announce({
      headerTableBytes: settings.get(SETTING.HEADER_TABLE_SIZE),
      maxFrameBytes: settings.get(SETTING.MAX_FRAME_SIZE),
    });
  }
}
