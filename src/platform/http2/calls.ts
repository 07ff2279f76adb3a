// The calls open on one connection and their flow-control windows, as both directions show them.
import { PeerFault } from './fault.js';
import { DEFAULT_WINDOW } from './frames.js';
import { MessageMeter } from './message-meter.js';

/** Of requests that a connection of a user has begun and not completed: four of the largest that any door takes. */
export const HALF_REQUEST_BYTES = 256 * 1024;
/** Of memory that a piece of a request costs beside its octets: the server keeps an object for each until the message is whole. */
export const PIECE_BYTES = 192;

/** An open call. */
interface Call {
  readonly openedAt: number;
  isRequested: boolean;
  isAnswering: boolean;
  /** When its answer was complete. */
  answeredAt: number | undefined;
  /** Octets that a request takes which is not complete, whether its answer has begun or not. */
  halfBytes: number;
  /** Of the request. */
  readonly meter: MessageMeter;
  hasMessage: boolean;
  hasTrailers: boolean;
  /** Octets of DATA the peer still takes for this call. */
  window: number;
  starvedSince: number | undefined;
}

/** Less window than this is none: a peer that hands it out drop by drop is not reading. */
const DROP_BYTES = 256;
/** A client may open some calls before it has read how many it may; beyond that it floods. */
const OVERRUN = 256;
/** Calls followed at most where the server allows any number. */
const MOST_CALLS = 4096;

/** Follows every call from its request to its end. Bounded: a peer that overruns its limit is at fault. */
export class Calls {
  readonly #calls = new Map<number, Call>();
  #lastId = 0;
  #initialWindow = DEFAULT_WINDOW;
  #window = DEFAULT_WINDOW;
  #starvedSince: number | undefined;
  #idleSince: number | undefined;
  #mayBeOpen = OVERRUN;
  #halfBytes = 0;
  readonly #mostHalfBytes: number;

  /**
   * @param now milliseconds on the monotonic scale, as everywhere here
   * @param mostHalfBytes octets of requests that are not complete, all of the connection: the server holds them
   */
  constructor(now: number, mostHalfBytes = Infinity) {
    this.#idleSince = now;
    this.#mostHalfBytes = mostHalfBytes;
  }

  /** Calls that are open. */
  get size(): number {
    return this.#calls.size;
  }

  /** Octets of requests that are not complete, with what their pieces cost. */
  get halfBytes(): number {
    return this.#halfBytes;
  }

  /** The highest call id seen. */
  get lastId(): number {
    return this.#lastId;
  }

  /** Since when no call is open; undefined while one is. */
  get idleSince(): number | undefined {
    return this.#idleSince;
  }

  /** Whether a HEADERS frame with this id opens a call (RFC 9113 5.1.1). */
  opens(id: number): boolean {
    return id > this.#lastId && id % 2 === 1;
  }

  /** Whether a call is open. */
  has(id: number): boolean {
    return this.#calls.has(id);
  }

  /** Whether a call is open whose request is not complete, and whose answer has not begun. */
  isAsked(id: number): boolean {
    const call = this.#calls.get(id);
    return call !== undefined && !call.isRequested && !call.isAnswering;
  }

  /**
   * A request began. The caller has asked opens() first.
   *
   * @throws PeerFault CALL_FLOOD when far more calls are open than the server allows
   */
  open(id: number, now: number): void {
    if (this.#calls.size >= this.#mayBeOpen) {
      throw new PeerFault('CALL_FLOOD', `the peer has more than ${this.#mayBeOpen} calls open at once`);
    }
    this.#lastId = id;
    this.#idleSince = undefined;
    const window = this.#initialWindow;
    const starvedSince = window < DROP_BYTES ? now : undefined;
    this.#calls.set(id, {
      openedAt: now,
      isRequested: false,
      isAnswering: false,
      answeredAt: undefined,
      halfBytes: 0,
      meter: new MessageMeter(),
      hasMessage: false,
      hasTrailers: false,
      window,
      starvedSince,
    });
  }

  /**
   * A piece of a request came, of a read or of a frame. Pieces count while the request is answered, too: the server throws away those
   * that it does not read any more, and asks for more.
   *
   * @throws PeerFault CALL_FLOOD when the parts of all that are not complete are more than a server should hold
   */
  received(id: number, bytes: number): void {
    const call = this.#calls.get(id);
    if (call === undefined || call.isRequested) return;
    call.halfBytes += bytes + PIECE_BYTES;
    this.#halfBytes += bytes + PIECE_BYTES;
    if (this.#halfBytes <= this.#mostHalfBytes) return;
    const what = `the peer began requests that take ${this.#halfBytes} bytes with all their pieces, and completed none of them`;
    throw new PeerFault('CALL_FLOOD', what);
  }

  /**
   * Content of a request came.
   *
   * @returns how many messages began in it, beyond the first of the call
   */
  content(id: number, bytes: Buffer, from: number, to: number): number {
    const call = this.#calls.get(id);
    const begun = call?.meter.see(bytes, from, to) ?? 0;
    if (call === undefined || begun === 0) return 0;
    const further = call.hasMessage ? begun : begun - 1;
    call.hasMessage = true;
    return further;
  }

  /** A header block came that opens no call. Returns whether it is the trailers of a request, which may have one such block. */
  trailers(id: number): boolean {
    const call = this.#calls.get(id);
    if (call === undefined || call.isRequested || call.hasTrailers) return false;
    call.hasTrailers = true;
    return true;
  }

  /** The request is complete. Returns whether that completed the call. */
  requested(id: number, now: number): boolean {
    const call = this.#calls.get(id);
    if (call === undefined) return false;
    call.isRequested = true;
    this.#forgetHalf(call);
    const isAnswered = call.answeredAt !== undefined;
    if (isAnswered) this.reset(id, now);
    return isAnswered;
  }

  /** The answer is complete. Returns whether that completed the call. */
  answered(id: number, now: number): boolean {
    const call = this.#calls.get(id);
    if (call === undefined) return false;
    call.answeredAt = now;
    if (call.isRequested) this.reset(id, now);
    return call.isRequested;
  }

  /** The answer has begun. A request that is answered while it goes on is meant to stay open: it is not half open. */
  answering(id: number): void {
    const call = this.#calls.get(id);
    if (call !== undefined) call.isAnswering = true;
  }

  /** The call is over. */
  reset(id: number, now: number): void {
    const call = this.#calls.get(id);
    if (call === undefined) return;
    this.#forgetHalf(call);
    this.#calls.delete(id);
    if (this.#calls.size === 0) this.#idleSince = now;
  }

  #forgetHalf(call: Call): void {
    this.#halfBytes -= call.halfBytes;
    call.halfBytes = 0;
  }

  /** The server said how many calls may be open at once. */
  limit(calls: number): void {
    this.#mayBeOpen = Math.min(calls, MOST_CALLS) + OVERRUN;
  }

  /** We sent DATA. */
  sent(id: number, bytes: number, now: number): void {
    this.#window -= bytes;
    if (this.#window < DROP_BYTES) this.#starvedSince ??= now;
    const call = this.#calls.get(id);
    if (call === undefined) return;
    call.window -= bytes;
    if (call.window < DROP_BYTES) call.starvedSince ??= now;
  }

  /** The peer enlarged the window of a call, or with id 0 that of the connection. */
  granted(id: number, bytes: number): void {
    if (id === 0) {
      this.#window += bytes;
      if (this.#window >= DROP_BYTES) this.#starvedSince = undefined;
      return;
    }
    const call = this.#calls.get(id);
    if (call !== undefined) widen(call, bytes);
  }

  /** The peer changed the window that calls begin with; open ones change with it (RFC 9113 6.9.2). */
  beginWith(window: number, now: number): void {
    const difference = window - this.#initialWindow;
    this.#initialWindow = window;
    for (const call of this.#calls.values()) {
      widen(call, difference);
      if (call.window < DROP_BYTES) call.starvedSince ??= now;
    }
  }

  /**
   * Since when a call is half open whose request is not complete: as long as its answer has not begun, since it was opened, and
   * again from the end of its answer on.
   */
  halfOpenSince(): number | undefined {
    let since: number | undefined;
    for (const { openedAt, isRequested, isAnswering, answeredAt } of this.#calls.values()) {
      const halfOpenSince = isAnswering ? answeredAt : openedAt;
      if (!isRequested && halfOpenSince !== undefined) since = Math.min(since ?? halfOpenSince, halfOpenSince);
    }
    return since;
  }

  /** Since when an answer has no window to go through. */
  starvedSince(): number | undefined {
    let oldest: number | undefined;
    let since: number | undefined;
    for (const { answeredAt, openedAt, starvedSince } of this.#calls.values()) {
      oldest ??= openedAt;
      if (answeredAt === undefined && starvedSince !== undefined) since = Math.min(since ?? starvedSince, starvedSince);
    }
    if (oldest === undefined || this.#starvedSince === undefined) return since;
    return Math.min(since ?? Infinity, Math.max(oldest, this.#starvedSince));
  }
}

function widen(call: Call, bytes: number): void {
  call.window += bytes;
  if (call.window >= DROP_BYTES) call.starvedSince = undefined;
}
