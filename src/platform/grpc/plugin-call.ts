// One call on a connection of ours: a request, and messages until a status. Messages are read only while somebody wants them;
// unread ones stay with the sender (flow control).
import { constants, type ClientHttp2Stream, type IncomingHttpHeaders } from 'node:http2';
import type { Alarm, Clock } from '../../kernel/clock.js';
import { GRPC_STATUS } from '../../model/reasons.js';
import { ofHttp, ofReset, statusIn, type AnswerStatus } from './answer-status.js';
import { framed, MessageReader, type UnreadableMessage } from './message-reader.js';
import { SMALL_BYTES, type MessageReservation, type UserRoom } from './message-room.js';
import type { PluginLink } from './plugin-link.js';

/** Between processes of one machine the longest message takes a second; a peer that stops in the middle of one hangs. */
const WHOLE_WITHIN_MS = 30_000;

/** How a call ended. */
export interface CallEnd extends AnswerStatus {
  /** The peer said so, by a status or by a reset after it had begun to answer. */
  readonly isPeers: boolean;
}

/** The caller, in PluginChannel (platform/grpc/plugin-client). Nothing is called back before PluginCall.begin() has returned. */
export interface CallListener {
  /** A message came, while it was wanted. */
  message(bytes: Buffer): void;
  /** It is over; the last that is told. */
  ended(end: CallEnd): void;
}

/** The shared bounds of the calls of one connection. */
export interface CallBounds {
  /** The largest message taken. */
  readonly maxMessageBytes: number;
  /** The room of the peer's user for messages that are not whole; absent: it needs none. */
  readonly room?: UserRoom | undefined;
  readonly clock: Clock;
}

/** The listener of a call that is over. */
const NOBODY: CallListener = { message: () => undefined, ended: () => undefined };

/** A call. */
export class PluginCall {
  readonly #link: PluginLink;
  readonly #reader: MessageReader;
  #listener: CallListener;
  readonly #bounds: CallBounds;
  /** The reservation of the message that has begun and is not whole. */
  #reservation: MessageReservation | undefined;
  /**
   * The reservations of messages that were read, in order, until the reader has done with them, which may take a while. Undefined: the
   * message needed none.
   */
  readonly #wholeReservations: (MessageReservation | undefined)[] = [];
  #overdue: Alarm | undefined;
  #stream: ClientHttp2Stream | undefined;
  #isWanted = false;
  #http: number | undefined;
  /** The peer's status at the end; messages before it may still have to be read. */
  #said: AnswerStatus | undefined;
  #isUnreadable = false;
  #isClosed = false;
  #isOver = false;

  constructor(link: PluginLink, bounds: CallBounds, listener: CallListener) {
    this.#link = link;
    this.#bounds = bounds;
    this.#reader = new MessageReader(bounds.maxMessageBytes);
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
    if (this.#readNext()) return;
    this.#endIfRead();
    if (this.#isDeaf()) return;
    this.#makeRoom();
    if (this.#reservation?.isGranted !== false) this.#stream?.resume();
    this.#awaitRest();
  }

  /** The reader has done with this many messages, the oldest first, or with all: their room is free for others of the user. */
  done(messages = Infinity): void {
    for (const reservation of this.#wholeReservations.splice(0, messages)) reservation?.leave();
  }

  /** Gives it up: it ends with this status, unless it is over. */
  cancel(status: number, details: string): void {
    this.#finish({ status, details, isPeers: false }, true);
  }

  /** The peer's answer cannot be taken: the call ends with this status. */
  refuse(status: number, details: string): void {
    this.#finish({ status, details, isPeers: true }, true);
  }

  #opened(stream: ClientHttp2Stream | undefined, request: Buffer): void {
    if (stream === undefined) {
      this.#finish({ status: GRPC_STATUS.UNAVAILABLE, details: this.#link.why, isPeers: false });
      return;
    }
    if (this.#isOver) {
      stream.on('error', () => undefined);
      this.#link.giveUp(stream);
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
    if (this.#isDeaf()) return;
    this.#reader.add(chunk);
    if (this.#isWanted) this.#readNext();
    this.#reader.keep();
    if (this.#isDeaf()) return;
    this.#makeRoom();
    if (!this.#isWanted || this.#reservation?.isGranted === false) this.#stream?.pause();
    this.#awaitRest();
  }

  /** Nothing more is taken of it. */
  #isDeaf(): boolean {
    return this.#isOver || this.#isUnreadable;
  }

  /** Gives the listener the next message, if one is whole: then true. */
  #readNext(): boolean {
    let message: Buffer | undefined;
    try {
      message = this.#reader.next();
    } catch (problem) {
      this.#isUnreadable = true;
      // Node tells of the headers a moment later, although they came before.
      process.nextTick(() => this.#unreadable(problem as UnreadableMessage));
      return false;
    }
    if (message === undefined) return false;
    this.#wholeReservations.push(this.#reservation);
    this.#reservation = undefined;
    this.#isWanted = false;
    this.#listener.message(message);
    return true;
  }

  /** A message that has begun needs room until it is whole; without it nothing more is read. */
  #makeRoom(): void {
    const { room } = this.#bounds;
    const bytes = this.#reader.begun;
    if (bytes <= SMALL_BYTES) this.#leaveRoom();
    else if (!this.#isOver) this.#reservation ??= room?.take(bytes, () => this.#granted());
  }

  #granted(): void {
    if (this.#isWanted) this.#stream?.resume();
    this.#awaitRest();
  }

  #leaveRoom(): void {
    this.#reservation?.leave();
    this.#reservation = undefined;
  }

  /** The rest of a message that has begun has to come, as long as it is read at all. */
  #awaitRest(): void {
    const isAwaited =
      this.#isWanted && !this.#isOver && this.#reader.begun > 0 && this.#reservation?.isGranted !== false;
    if (!isAwaited) {
      this.#overdue?.cancel();
      this.#overdue = undefined;
      return;
    }
    this.#overdue ??= this.#bounds.clock.alarm(WHOLE_WITHIN_MS, () => {
      const seconds = String(WHOLE_WITHIN_MS / 1_000);
      this.refuse(GRPC_STATUS.INTERNAL, `a message was begun and was not whole after ${seconds} s`);
    });
  }

  /** A page of HTML is no message: the status of HTTP counts. */
  #unreadable({ message, isTooLarge }: UnreadableMessage): void {
    const isHttp = this.#http !== undefined && this.#http !== 200;
    const { status, details } = isHttp
      ? ofHttp(this.#http)
      : { status: isTooLarge ? GRPC_STATUS.RESOURCE_EXHAUSTED : GRPC_STATUS.INTERNAL, details: message };
    this.refuse(status, details);
  }

  /** All there is may have been read: that ends a call which succeeded. */
  #endIfRead(): void {
    if (this.#said === undefined || (this.#reader.hasUnread && !this.#isWanted)) return;
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

  #finish(end: CallEnd, isGivenUp = false): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#reader.drop();
    this.#leaveRoom();
    this.#awaitRest();
    const stream = this.#stream;
    if (stream !== undefined) {
      // A call that was answered before its request had left would be kept with it until the connection ends.
      if (isGivenUp || !stream.writableFinished) this.#link.giveUp(stream);
      // Otherwise data under way would keep the call from closing.
      stream.resume();
    }
    const listener = this.#listener;
    // V8 keeps a stream of Node's through many collections, and it leads here.
    this.#listener = NOBODY;
    listener.ended(end);
  }
}
