// One call on a connection of ours: a request, and messages until a status. What comes is read only while somebody wants
// it; what is not read stays with the sender (flow control).
import { constants, type ClientHttp2Stream, type IncomingHttpHeaders } from 'node:http2';
import { GRPC_STATUS } from '../../model/reasons.js';
import { ofHttp, ofReset, statusIn, type AnswerStatus } from './answer-status.js';
import { framed, MessageReader, type UnreadableMessage } from './message-reader.js';
import type { PluginLink } from './plugin-link.js';

/** How a call ended. */
export interface CallEnd extends AnswerStatus {
  /** The peer said so, by a status or by a reset after it had begun to answer. */
  readonly isPeers: boolean;
}

/** Who made a call. Nothing is called back before PluginCall.begin() has returned. */
export interface CallListener {
  /** A message came, while it was wanted. */
  message(bytes: Buffer): void;
  /** It is over; the last that is told. */
  ended(end: CallEnd): void;
}

/** A call. */
export class PluginCall {
  readonly #link: PluginLink;
  readonly #reader: MessageReader;
  readonly #listener: CallListener;
  #stream: ClientHttp2Stream | undefined;
  /** Messages that came together with one that was wanted. */
  readonly #ready: Buffer[] = [];
  #isWanted = false;
  #http: number | undefined;
  /** What the peer said at the end; messages before it may still have to be read. */
  #said: AnswerStatus | undefined;
  #isUnreadable = false;
  #isClosed = false;
  #isOver = false;

  /** @param maxMessageBytes the largest message taken */
  constructor(link: PluginLink, maxMessageBytes: number, listener: CallListener) {
    this.#link = link;
    this.#reader = new MessageReader(maxMessageBytes);
    this.#listener = listener;
  }

  /** Sends the request. @param method full method name with leading slash */
  begin(method: string, request: Buffer): void {
    const headers = {
      ':method': 'POST',
      ':path': method,
      ':authority': 'localhost',
      ':scheme': 'http',
      te: 'trailers',
      'content-type': 'application/grpc',
      'user-agent': 'grpc-node-plugin-broker',
    };
    this.#link.open(headers, (stream) => this.#opened(stream, request));
  }

  /** The next message is wanted. */
  want(): void {
    this.#isWanted = true;
    const next = this.#ready.shift();
    if (next !== undefined) {
      this.#deliver(next);
      return;
    }
    this.#endIfRead();
    if (!this.#isOver) this.#stream?.resume();
  }

  /** Gives it up: it ends with this status, unless it is over. */
  cancel(status: number, details: string): void {
    this.#finish({ status, details, isPeers: false }, constants.NGHTTP2_CANCEL);
  }

  /** The peer answered what cannot be taken: the call ends with this status. */
  refuse(status: number, details: string): void {
    this.#finish({ status, details, isPeers: true }, constants.NGHTTP2_CANCEL);
  }

  #opened(stream: ClientHttp2Stream | undefined, request: Buffer): void {
    if (stream === undefined) {
      this.#finish({ status: GRPC_STATUS.UNAVAILABLE, details: this.#link.why, isPeers: false });
      return;
    }
    if (this.#isOver) {
      stream.on('error', () => undefined);
      stream.close(constants.NGHTTP2_CANCEL);
      return;
    }
    this.#stream = stream;
    stream.on('response', (headers, flags) => this.#answered(headers, flags));
    stream.on('trailers', (headers: IncomingHttpHeaders) => this.#concluded(headers));
    stream.on('data', (chunk: Buffer) => this.#received(chunk));
    stream.on('end', () => this.#endIfRead());
    stream.on('error', () => undefined); // its close says what it means
    stream.on('close', () => this.#closed(stream.rstCode));
    if (!this.#isWanted) stream.pause();
    stream.end(framed(request));
  }

  #answered(headers: IncomingHttpHeaders, flags: number): void {
    this.#http = Number(headers[':status']);
    if ((flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0) this.#concluded(headers);
  }

  #concluded(headers: IncomingHttpHeaders): void {
    this.#said = statusIn(headers, this.#http);
    // A failure is told at once; success only when everything before it was read.
    if (this.#said.status !== GRPC_STATUS.OK) this.#finish({ ...this.#said, isPeers: true });
    else this.#endIfRead();
  }

  #received(chunk: Buffer): void {
    if (this.#isOver || this.#isUnreadable) return;
    try {
      this.#ready.push(...this.#reader.take(chunk));
    } catch (problem) {
      this.#isUnreadable = true;
      // Node tells of the headers a moment later, although they came before.
      process.nextTick(() => this.#unreadable(problem as UnreadableMessage));
      return;
    }
    const next = this.#isWanted ? this.#ready.shift() : undefined;
    if (next !== undefined) this.#deliver(next);
    if (!this.#isWanted) this.#stream?.pause();
  }

  #deliver(message: Buffer): void {
    this.#isWanted = false;
    this.#listener.message(message);
  }

  /** A page of HTML is no message: what HTTP says of it counts. */
  #unreadable({ message, isTooLarge }: UnreadableMessage): void {
    const isHttp = this.#http !== undefined && this.#http !== 200;
    const { status, details } = isHttp
      ? ofHttp(this.#http)
      : { status: isTooLarge ? GRPC_STATUS.RESOURCE_EXHAUSTED : GRPC_STATUS.INTERNAL, details: message };
    this.refuse(status, details);
  }

  /** All there is may have been read: that ends a call which succeeded. */
  #endIfRead(): void {
    if (this.#said === undefined || this.#ready.length > 0) return;
    if (!this.#isClosed && this.#stream?.readableLength !== 0) return;
    this.#finish({ ...this.#said, isPeers: true });
  }

  #closed(code: number | undefined): void {
    if (this.#isOver) return;
    this.#isClosed = true;
    if (this.#said !== undefined) {
      this.#endIfRead();
      return;
    }
    if (this.#link.isLost) {
      this.#finish({ status: GRPC_STATUS.UNAVAILABLE, details: this.#link.why, isPeers: false });
      return;
    }
    const isHttp = this.#http !== undefined && this.#http !== 200;
    const status = isHttp ? ofHttp(this.#http) : ofReset(code ?? constants.NGHTTP2_NO_ERROR);
    this.#finish({ ...status, isPeers: this.#http !== undefined });
  }

  #finish(end: CallEnd, resetWith?: number): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#ready.length = 0;
    const stream = this.#stream;
    if (stream !== undefined) {
      if (resetWith !== undefined && !stream.destroyed) stream.close(resetWith);
      // Else what is still under way would keep the call from closing.
      stream.resume();
    }
    this.#listener.ended(end);
  }
}
