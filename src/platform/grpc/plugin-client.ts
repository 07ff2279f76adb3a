// Our side of calls to plugins: one channel per incarnation, raw bytes, one message pulled at a time.
import type { StreamEnd } from '../../model/failed-call.js';
import { Channel, connectivityState, Metadata, status as Status, type ChannelOptions } from '@grpc/grpc-js';
import { LONGEST_ALARM_MS, type Clock } from '../../kernel/clock.js';
import type { TransportFault } from '../../model/failed-call.js';
import { GRPC_STATUS } from '../../model/reasons.js';
import { OwnedSockets, type Guarding } from './owned-sockets.js';
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

/** A server stream that is read only when asked: what is not read stays with the sender (flow control). */
export interface PulledStream {
  /**
   * The next message, or undefined at the end. Only one read may wait at a time.
   */
  read(): Promise<Buffer | undefined>;
  /** Set once the stream ended. */
  readonly end: StreamEnd | undefined;
  /** Ends it from our side; a waiting read gets undefined. Idempotent. */
  cancel(): void;
}

type Call = ReturnType<Channel['createCall']>;

const NEVER = Infinity;

/** Options of every channel to a plugin; none is the library's own choice: no shared backoff between incarnations, no retries
 * behind our back, no channelz records, no keepalive (Go servers end connections that ping), small reconnect waits. */
function channelOptions(maxMessageBytes: number): ChannelOptions {
  return {
    'grpc.use_local_subchannel_pool': 1,
    'grpc.enable_retries': 0,
    'grpc.enable_channelz': 0,
    'grpc.default_authority': 'localhost',
    'grpc.max_receive_message_length': maxMessageBytes,
    'grpc.initial_reconnect_backoff_ms': 100,
    'grpc.max_reconnect_backoff_ms': 1000,
    'grpc.service_config_disable_resolution': 1,
    'grpc.enable_http_proxy': 0,
    // A channel without a call would end its connection after half an hour: that is not a plugin that was lost.
    'grpc.client_idle_timeout_ms': LONGEST_ALARM_MS,
  };
}

/** A channel to one socket. Nothing is dialled before the first call. */
export class PluginChannel {
  readonly #channel: Channel;
  readonly #sockets: OwnedSockets;
  readonly #clock: Clock;
  #closed = false;

  /**
   * @param dialPath a socket path, of a pin: exactly the file that was checked is dialled
   * @param maxMessageBytes the largest message taken
   * @param guarding what the connection is guarded with
   * @param target where the socket is, for messages
   */
  constructor(dialPath: string, maxMessageBytes: number, guarding: Guarding, target: string) {
    this.#clock = guarding.clock;
    this.#sockets = new OwnedSockets(guarding, target);
    this.#channel = new Channel(`unix:${dialPath}`, this.#sockets.credentials, channelOptions(maxMessageBytes));
  }

  /**
   * One request, one answer, as bytes.
   *
   * @param method full method name with leading slash
   * @param limitMs milliseconds until the call fails with DEADLINE_EXCEEDED; counted on our own clock, because the
   *   library takes wall time and a set clock must not end calls
   * @throws CallFailed for everything that went wrong, a cancelled signal included
   */
  unary(method: string, request: Buffer, limitMs: number, signal: AbortSignal): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      if (signal.aborted || this.#closed) {
        reject(new CallFailed(GRPC_STATUS.CANCELLED, 'cancelled before it began', 'given-up'));
        return;
      }
      const call = this.#channel.createCall(method, NEVER, undefined, null, undefined);
      const onAbort = (): void => call.cancelWithStatus(Status.CANCELLED, 'given up');
      signal.addEventListener('abort', onAbort, { once: true });
      let isLate = false;
      const alarm = this.#clock.alarm(limitMs, () => {
        isLate = true;
        call.cancelWithStatus(Status.DEADLINE_EXCEEDED, `no answer within ${String(limitMs)} ms`);
      });
      let answer: Buffer | undefined;
      let hasHeaders = false;
      call.start(new Metadata(), {
        onReceiveMetadata: () => {
          hasHeaders = true;
        },
        onReceiveMessage: (message: unknown) => {
          if (answer !== undefined) call.cancelWithStatus(Status.INTERNAL, 'there was more than one answer');
          answer = message as Buffer;
          // Unread, a second one would keep back the end of the call until its deadline.
          call.startRead();
        },
        onReceiveStatus: ({ code, details, metadata }) => {
          alarm.cancel();
          signal.removeEventListener('abort', onAbort);
          if (code === Status.OK && answer !== undefined) resolve(answer);
          else if (code === Status.OK) reject(new CallFailed(GRPC_STATUS.INTERNAL, 'the answer has no message'));
          else
            reject(this.#failed(code, details, (hasHeaders || Object.keys(metadata.getMap()).length > 0) && !isLate));
        },
      });
      call.sendMessageWithContext({}, request);
      call.halfClose();
      call.startRead();
    });
  }

  /** Opens a server stream with one request. It never fails here: failures are its end. */
  stream(method: string, request: Buffer): PulledStream {
    const call = this.#channel.createCall(method, NEVER, undefined, null, undefined);
    const stream = new PulledCall(call);
    call.start(new Metadata(), {
      onReceiveMetadata: () => undefined,
      onReceiveMessage: (message: unknown) => stream.deliver(message as Buffer),
      onReceiveStatus: ({ code, details }) => stream.finish(this.#ended(code, details)),
    });
    call.sendMessageWithContext({}, request);
    call.halfClose();
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
      const settle = (end: () => void): void => {
        alarm.cancel();
        signal.removeEventListener('abort', onAbort);
        isSettled = true;
        end();
      };
      const fail = (status: number, details: string): void =>
        settle(() => reject(new CallFailed(status, details, transportFault(status, details))));
      const onAbort = (): void => fail(GRPC_STATUS.CANCELLED, 'given up');
      let isSettled = false;
      const alarm = this.#clock.alarm(limitMs, () => {
        fail(GRPC_STATUS.DEADLINE_EXCEEDED, `no connection within ${String(limitMs)} ms`);
      });
      const look = (): void => {
        if (isSettled) return;
        if (this.#closed || signal.aborted) {
          onAbort();
          return;
        }
        const state = this.#channel.getConnectivityState(true);
        if (state === connectivityState.READY) settle(resolve);
        else if (state === connectivityState.TRANSIENT_FAILURE) {
          fail(GRPC_STATUS.UNAVAILABLE, 'nobody who speaks gRPC listens on it');
        } else this.#channel.watchConnectivityState(state, NEVER, look);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      look();
    });
  }

  /** Calls back once when an established connection is gone. For sessions without an open stream. */
  onConnectionLost(lost: () => void): void {
    const state = this.#channel.getConnectivityState(false);
    if (this.#closed) return;
    if (state !== connectivityState.READY) {
      lost();
      return;
    }
    this.#channel.watchConnectivityState(state, NEVER, (failure) => {
      if (failure === undefined && !this.#closed) lost();
    });
  }

  /** @param isPeers whether the peer answered: a peer that refuses sends headers, or trailers with at least their content type */
  #failed(code: number, details: string, isPeers: boolean): CallFailed {
    const { fault } = this.#sockets;
    const words = this.#why(code, details);
    if (fault !== undefined && words !== details) {
      return new CallFailed(code, words, fault.code === 'PROTOCOL' ? 'not-grpc' : 'unreachable');
    }
    return new CallFailed(code, details, isPeers ? undefined : transportFault(code, details));
  }

  /** Any status may be the plugin's own as long as the connection stands. */
  #ended(code: number, details: string): StreamEnd {
    const { fault: ended, isConnected } = this.#sockets;
    const isOurs = ended !== undefined || !isConnected || isTooLarge(code, details);
    const fault = code === GRPC_STATUS.OK || !isOurs ? undefined : transportFault(code, details);
    return { status: code, details: this.#why(code, details), fault };
  }

  /** The library only knows that the connection was lost; the border knows why it ended it. */
  #why(code: number, details: string): string {
    const { fault } = this.#sockets;
    return fault === undefined || code !== GRPC_STATUS.UNAVAILABLE
      ? details
      : `the broker ended the connection, ${fault.code}: ${fault.message}`;
  }

  /** Closes the connection, for certain; calls in flight fail. Idempotent. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#channel.close();
    this.#sockets.close();
  }
}

class PulledCall implements PulledStream {
  readonly #call: Call;
  #waiting: ((message: Buffer | undefined) => void) | undefined;
  #ready: Buffer | undefined;
  end: StreamEnd | undefined;

  constructor(call: Call) {
    this.#call = call;
  }

  read(): Promise<Buffer | undefined> {
    if (this.#ready !== undefined) {
      const message = this.#ready;
      this.#ready = undefined;
      return Promise.resolve(message);
    }
    if (this.end !== undefined) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      this.#waiting = resolve;
      this.#call.startRead();
    });
  }

  deliver(message: Buffer): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting === undefined) this.#ready = message;
    else waiting(message);
  }

  finish(end: StreamEnd): void {
    this.end ??= end;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.(undefined);
  }

  cancel(): void {
    if (this.end !== undefined) return;
    this.#call.cancelWithStatus(Status.CANCELLED, 'closed by the broker');
    this.finish({ status: Status.CANCELLED, details: 'closed by the broker' });
  }
}
