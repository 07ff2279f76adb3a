// Our side of calls to plugins: one channel per incarnation, raw bytes, one message pulled at a time.
import type { StreamEnd, TransportFault } from '../../model/failed-call.js';
import { GRPC_STATUS } from '../../model/reasons.js';
import type { ListStream } from '../../session/ports.js';
import type { Guarding } from './owned-sockets.js';
import { PluginCall, type CallBounds, type CallEnd } from './plugin-call.js';
import { PluginLink } from './plugin-link.js';
import { isTooLarge, transportFault } from './transport-fault.js';

/** A call that failed: the status the peer or the transport gave, and its words. */
export class CallFailed extends Error {
  override readonly name = 'CallFailed';
  /** gRPC status number. */
  readonly status: number;
  /** Why our transport failed it; undefined when the peer answered. */
  readonly fault: TransportFault | undefined;
  constructor(status: number, details: string, fault?: TransportFault) {
    super(details);
    this.status = status;
    this.fault = fault;
  }
}

/** Connections of one plugin that take no more calls and have calls under way; of more the newest ends at once. */
const MOST_LEAVING = 4;

/**
 * A channel to one socket. Nothing is dialled before the first call, and a lost connection is made again by the next call:
 * nothing is retried without the caller. No PING is sent, because Go servers end connections for PINGs.
 */
export class PluginChannel {
  readonly #dialPath: string;
  readonly #bounds: CallBounds;
  readonly #guarding: Guarding;
  readonly #target: string;
  readonly #uid: number | undefined;
  #link: PluginLink | undefined;
  /** Those before it whose plugin said GOAWAY, and whose calls go on: a Go server says so to connections of some age. */
  readonly #leaving = new Set<PluginLink>();
  #isClosed = false;

  /**
   * @param dialPath a socket path, of a pin: exactly the file that was checked is dialled
   * @param maxMessageBytes the largest message taken
   * @param guarding the guards of the connection
   * @param target where the socket is, for messages
   * @param uid of the owner of the socket, whose room large messages need; absent: they need none
   */
  constructor(dialPath: string, maxMessageBytes: number, guarding: Guarding, target: string, uid?: number) {
    this.#dialPath = dialPath;
    const room = uid === undefined ? undefined : guarding.room?.of(uid);
    this.#bounds = { maxMessageBytes, clock: guarding.clock, room };
    this.#guarding = guarding;
    this.#uid = uid;
    this.#target = target;
  }

  /**
   * One request, one answer, as bytes.
   *
   * @param method full method name with leading slash
   * @param limitMs milliseconds until the call fails with DEADLINE_EXCEEDED
   * @param mostBytes the largest answer taken, where that is less than for other calls of the channel
   * @throws CallFailed for everything that went wrong, a cancelled signal included
   */
  unary(method: string, request: Buffer, limitMs: number, signal: AbortSignal, mostBytes = Infinity): Promise<Buffer> {
    const maxMessageBytes = Math.min(mostBytes, this.#bounds.maxMessageBytes);
    return new Promise((resolve, reject) => {
      if (signal.aborted || this.#isClosed) {
        reject(new CallFailed(GRPC_STATUS.CANCELLED, 'cancelled before it began', 'given-up'));
        return;
      }
      const full = this.#uid === undefined ? undefined : this.#guarding.unsent?.refusal(this.#uid, request.length);
      if (full !== undefined) {
        reject(new CallFailed(GRPC_STATUS.RESOURCE_EXHAUSTED, full, 'busy'));
        return;
      }
      const link = this.#dialled();
      let answer: Buffer | undefined;
      const call = new PluginCall(
        link,
        { ...this.#bounds, maxMessageBytes },
        {
          message: (message) => {
            if (answer !== undefined) call.refuse(GRPC_STATUS.INTERNAL, 'there was more than one answer');
            answer = message;
            // Unread, a second one would keep back the end of the call until its deadline.
            call.want();
          },
          ended: (end) => {
            alarm.cancel();
            signal.removeEventListener('abort', onAbort);
            call.done();
            if (end.status !== GRPC_STATUS.OK) reject(failed(link, end));
            else if (answer === undefined) reject(new CallFailed(GRPC_STATUS.INTERNAL, 'the answer has no message'));
            else resolve(answer);
          },
        },
      );
      const onAbort = (): void => call.cancel(GRPC_STATUS.CANCELLED, 'given up');
      signal.addEventListener('abort', onAbort, { once: true });
      const alarm = this.#guarding.clock.alarm(limitMs, () =>
        call.cancel(GRPC_STATUS.DEADLINE_EXCEEDED, `no answer within ${String(limitMs)} ms`),
      );
      call.want();
      call.begin(method, request);
    });
  }

  /** Opens a server stream with one request. It never fails here: failures are its end. */
  stream(method: string, request: Buffer): ListStream {
    const stream = new ReadCall(this.#dialled(), this.#bounds);
    if (this.#isClosed) stream.cancel();
    else stream.call.begin(method, request);
    return stream;
  }

  /**
   * Connects without a call.
   *
   * @param limitMs milliseconds until a peer that accepts but does not speak HTTP/2 counts as not answering
   * @throws CallFailed UNAVAILABLE, DEADLINE_EXCEEDED, or CANCELLED when the signal aborts
   */
  connect(limitMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (failure?: CallFailed): void => {
        alarm.cancel();
        signal.removeEventListener('abort', onAbort);
        if (failure === undefined) resolve();
        else reject(failure);
      };
      const fail = (status: number, details: string): void =>
        settle(new CallFailed(status, details, transportFault(status, details)));
      const onAbort = (): void => fail(GRPC_STATUS.CANCELLED, 'given up');
      const alarm = this.#guarding.clock.alarm(limitMs, () =>
        fail(GRPC_STATUS.DEADLINE_EXCEEDED, `no connection within ${String(limitMs)} ms`),
      );
      signal.addEventListener('abort', onAbort, { once: true });
      if (signal.aborted || this.#isClosed) {
        onAbort();
        return;
      }
      const link = this.#dialled();
      link.whenUp(() => {
        if (link.isUp) settle();
        else if (this.#isClosed) onAbort();
        else fail(GRPC_STATUS.UNAVAILABLE, 'nobody who speaks gRPC listens on it');
      });
    });
  }

  /** Calls back once when an established connection is gone. For sessions without an open stream. */
  onConnectionLost(lost: () => void): void {
    if (this.#isClosed) return;
    if (this.#link === undefined) lost();
    else this.#link.whenLost(lost);
  }

  /** Closes the connection, for certain; calls in flight fail. Idempotent. */
  close(): void {
    this.#isClosed = true;
    for (const link of this.#leaving) link.close();
    this.#link?.close();
  }

  #dialled(): PluginLink {
    const known = this.#link;
    if (known?.isUsable === true || (known !== undefined && this.#isClosed)) return known;
    if (known !== undefined) this.#letGo(known);
    const link = new PluginLink(this.#dialPath, this.#target, this.#guarding, this.#uid);
    this.#link = link;
    if (this.#isClosed) link.close();
    return link;
  }

  #letGo(link: PluginLink): void {
    if (!link.isLeaving || this.#leaving.size >= MOST_LEAVING) {
      link.close();
      return;
    }
    this.#leaving.add(link);
    link.whenEnded(() => this.#leaving.delete(link));
  }
}

/** The library that speaks HTTP/2 only knows that the connection was lost; the link knows why. */
function failed(link: PluginLink, { status, details, isPeers }: CallEnd): CallFailed {
  if (isPeers) return new CallFailed(status, details);
  const isOther = link.fault !== undefined && status === GRPC_STATUS.UNAVAILABLE;
  if (isOther) return new CallFailed(status, details, link.fault.code === 'PROTOCOL' ? 'not-grpc' : 'unreachable');
  return new CallFailed(status, details, transportFault(status, details));
}

class ReadCall implements ListStream {
  readonly call: PluginCall;
  #waiting: ((message: Buffer | undefined) => void) | undefined;
  end: StreamEnd | undefined;

  constructor(link: PluginLink, bounds: CallBounds) {
    this.call = new PluginCall(link, bounds, {
      message: (message) => this.#settle(message),
      ended: (end) => {
        const { status, details } = end;
        const fault = isTooLarge(status, details) ? 'too-large' : failed(link, end).fault;
        this.#finish({ status, details, fault });
      },
    });
  }

  read(): Promise<Buffer | undefined> {
    if (this.end !== undefined) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      this.#waiting = resolve;
      this.call.want();
    });
  }

  done(messages: number): void {
    this.call.done(messages);
  }

  cancel(): void {
    this.call.done();
    if (this.end !== undefined) return;
    this.#finish({ status: GRPC_STATUS.CANCELLED, details: 'closed by the broker' });
    this.call.cancel(GRPC_STATUS.CANCELLED, 'closed by the broker');
  }

  #finish(end: StreamEnd): void {
    this.end ??= end;
    this.#settle(undefined);
  }

  #settle(message: Buffer | undefined): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.(message);
  }
}
