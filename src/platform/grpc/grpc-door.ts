// A grpc-js server behind a listener of ours: the caller is identified and its budget checked, then the border, then the library.
// Each connection has an injector of its own, so that a call knows its connection and one peer can be cut off without touching
// another.
import {
  experimental,
  ServerCredentials,
  ServerInterceptingCall,
  type Server,
  type ServerInterceptor,
  type ServiceDefinition,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { constants, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { sleep, type Clock } from '../../kernel/clock.js';
import type { GuardedConnection } from '../../model/guarded-connection.js';
import { answersLeave, nextTurn } from '../time/next-turn.js';
import { createForgivingServer } from './forgiving-server.js';
import { forgetPieces, RequestBytes } from './request-bytes.js';
import { ACCEPTED_ENCODINGS, unpackNothing } from './uncompressed.js';
import type { UnreadAnswers } from './unread-answers.js';

/** A connection that is to be closed stays this long, so that the last answer reaches its caller. */
const ANSWER_LEAVES_MS = 50;

/** One accepted connection. */
export type Connection = GuardedConnection<Duplex>;

/** Accepts a connection before the library sees it. Undefined: it was refused and closed. */
export type Accept = (socket: Socket) => Connection | undefined;

/** Stands before a door. For plugins it is ConnectionGate (flood/connection-gate). */
export interface Gate {
  readonly accept: Accept;
  /** Calls `go` when a connection is to be accepted, in its turn; never, where it was refused or closed. Absent: at once. */
  readonly inTurn?: ((socket: Socket, go: () => void) => void) | undefined;
}

/** Settings of one door. */
export interface DoorOptions extends Gate {
  /** Concurrent calls on one connection. */
  readonly streams: number;
  /** The largest request taken, in bytes. */
  readonly maxRequestBytes: number;
  readonly clock: Clock;
  /** Bounds what waits of long answers; absent: answers are short, or callers trusted. */
  readonly unread?: UnreadAnswers;
}

/** A connection, and how many calls of it have come whole and are not answered yet. */
interface Open {
  readonly connection: Connection;
  readonly socket: Socket;
  calls: number;
}

/** A call that was taken; one that no handler asks about was answered by the library alone. */
interface TakenCall {
  readonly stream: ServerHttp2Stream;
  readonly open: Open | undefined;
  isHandled: boolean;
}

/** A method, and the handler of its calls. */
export type BytesMethod = readonly [
  method: Pick<ServiceDefinition[string], 'path' | 'requestStream' | 'responseStream'>,
  handler: UntypedServiceImplementation[string],
];

/** Serves one gRPC service on injected connections. */
export class GrpcDoor {
  readonly #server: Server;
  readonly #options: DoorOptions;
  readonly #open = new Set<Open>();
  /** The connection of each interceptor's calls. */
  readonly #labels = new WeakMap<object, Open>();
  /** By the metadata that a handler is given. */
  readonly #calls = new WeakMap<object, TakenCall>();
  /** The call that is looked at in this turn of the loop. */
  #taking: TakenCall | undefined;
  #isHushed = false;

  constructor(options: DoorOptions) {
    this.#options = options;
    this.#server = createForgivingServer(
      {
        'grpc.max_concurrent_streams': options.streams,
        'grpc.max_receive_message_length': options.maxRequestBytes,
      },
      (interceptors, stream, go) => this.#watch(interceptors as readonly object[], stream, go),
    );
  }

  /** Adds a service; before the first connection. */
  serve(definition: ServiceDefinition, handlers: UntypedServiceImplementation): void {
    this.#server.addService(definition, handlers);
  }

  /** Adds methods of one service whose handlers take RequestBytes and give bytes; before the first connection. */
  serveBytes(methods: readonly BytesMethod[]): void {
    const asIs = (bytes: Buffer): Buffer => bytes;
    const codec = {
      requestSerialize: (request: RequestBytes) => request.take(),
      requestDeserialize: (bytes: Buffer) => new RequestBytes(bytes),
      responseSerialize: asIs,
      responseDeserialize: asIs,
    };
    const named = methods.map(([{ path, requestStream, responseStream }, handler]) => {
      const definition = { path, requestStream, responseStream, ...codec };
      return { name: path.slice(path.lastIndexOf('/') + 1), definition, handler };
    });
    this.serve(
      Object.fromEntries(named.map(({ name, definition }) => [name, definition])),
      Object.fromEntries(named.map(({ name, handler }) => [name, handler])),
    );
  }

  /** Connections open now. */
  get connections(): number {
    return this.#open.size;
  }

  /** The connection a call came on, for its handler, which reports the outcome; undefined when it has gone. */
  connectionOf(metadata: object): Connection | undefined {
    const call = this.#calls.get(metadata);
    if (call !== undefined) call.isHandled = true;
    return this.#ifOpen(call)?.connection;
  }

  /** Calls `closed` once, when nothing of a call waits here any more, whoever ended it; now, where that is so already. */
  onceClosed(metadata: object, closed: () => void): void {
    const stream = this.#calls.get(metadata)?.stream;
    if (stream === undefined || stream.destroyed) closed();
    else stream.once('close', closed);
  }

  /**
   * Closes the connection a call came on, a moment after the call was answered: the answer is on its way for some turns
   * of the loop, and libraries forget one that arrives together with the end. Meanwhile no further call is taken.
   */
  disconnect(metadata: object): void {
    const open = this.#ifOpen(this.#calls.get(metadata));
    open?.connection.slowDown();
    this.#options.clock.alarm(ANSWER_LEAVES_MS, () => void nextTurn().then(() => open?.socket.destroySoon()));
  }

  /**
   * Takes an accepted socket. From here on the library speaks HTTP/2 with it, and gives each call to the handler that `serve` or
   * `serveBytes` added: on kubelet.sock that of `serveRegister` (platform/grpc/register-service).
   */
  readonly take = (socket: Socket): void => {
    socket.on('error', () => undefined); // its close is what counts
    const take = (): void => this.#takeNow(socket);
    if (this.#options.inTurn === undefined) take();
    else this.#options.inTurn(socket, take);
  };

  #takeNow(socket: Socket): void {
    if (this.#isHushed) return void socket.destroy();
    if (socket.isPaused()) socket.resume();
    const connection = this.#options.accept(socket);
    if (connection === undefined) return;
    const open: Open = { connection, socket, calls: 0 };
    this.#open.add(open);
    const label = this.#label(open);
    this.#labels.set(label, open);
    const injector = this.#server.createConnectionInjector(
      experimental.createServerCredentialsWithInterceptors(ServerCredentials.createInsecure(), [label]),
    );
    // The border takes turns with others for its end.
    connection.stream.once('close', () => {
      this.#open.delete(open);
      injector.destroy();
    });
    injector.injectConnection(connection.stream);
  }

  /**
   * Takes no new calls from now on, so that clients cannot delay the end: connections without a complete call end once their
   * answers have left, the others are read only now and then, and no connection is accepted. Call it before `drain`.
   */
  async hush(): Promise<void> {
    this.#isHushed = true;
    for (const { connection } of this.#open) connection.slowDown();
    // The answer of a call that ends meanwhile is on its way: its connection is left to `drain`.
    const idle = [...this.#open].filter(({ calls }) => calls === 0);
    await answersLeave();
    for (const { calls, socket } of idle) if (calls === 0) socket.destroy();
  }

  /**
   * Finishes calls in flight, for `limitMs` at most, then ends all connections. The library's word that it is done is not waited
   * for: from Node 24 on, closing a server closes its sessions, and sessions that are closing count as closed for the library.
   */
  async drain(limitMs: number): Promise<void> {
    const left = [...this.#open].map(({ connection }) => untilClosed(connection.stream));
    this.#server.tryShutdown(() => undefined);
    await Promise.race([Promise.all(left), sleep(this.#options.clock, limitMs)]);
    await answersLeave();
    this.destroy();
  }

  /** Ends all connections at once. */
  destroy(): void {
    this.#isHushed = true; // connections may wait for their turn
    this.#server.forceShutdown();
    for (const { socket } of this.#open) socket.destroy();
    this.#open.clear();
  }

  #ifOpen(call: TakenCall | undefined): Open | undefined {
    return call?.open !== undefined && this.#open.has(call.open) ? call.open : undefined;
  }

  /** Counts a call as refused that is answered and reaches no handler: no method of ours, no gRPC, compressed, too large. */
  #watch(interceptors: readonly object[], stream: ServerHttp2Stream, go: () => void): void {
    const open = interceptors.map((one) => this.#labels.get(one)).find((found) => found !== undefined);
    const call: TakenCall = { stream, open, isHandled: false };
    const judge = (): void => {
      if (call.isHandled || !stream.headersSent) return;
      call.isHandled = true;
      open?.connection.answered(false);
    };
    this.#taking = call;
    go();
    this.#taking = undefined;
    judge();
    if (stream.headersSent) endRequest(stream);
    stream.once('close', judge);
  }

  #label(open: Open): ServerInterceptor {
    return (_method, call) => {
      const taken = this.#taking;
      unpackNothing(call);
      const over = this.#options.unread?.follow(call, open.connection);
      // The library says "cancelled" of a call whose messages still wait, too, when its request is refused a second time.
      if (over !== undefined) taken?.stream.once('close', over);
      let [isUnderWay, isOver] = [false, false];
      const underWay = (is: boolean): void => {
        if (isOver) return;
        if (is !== isUnderWay) open.calls += is ? 1 : -1;
        isUnderWay = is;
      };
      return new ServerInterceptingCall(call, {
        start: (next) =>
          next({
            onReceiveMetadata: (metadata, pass) => {
              if (taken !== undefined) this.#calls.set(metadata, taken);
              pass(metadata);
            },
            onReceiveHalfClose: (pass) => {
              forgetPieces(call);
              underWay(true);
              pass();
            },
            onCancel: () => {
              underWay(false);
              isOver = true;
              if (taken !== undefined) endRequest(taken.stream);
            },
          }),
        sendStatus: (status, next) => {
          underWay(false);
          next(status);
        },
        sendMetadata: (metadata, next) => {
          // The library would announce the encodings that it could unpack.
          for (const [name, value] of Object.entries(ACCEPTED_ENCODINGS)) metadata.set(name, value);
          next(metadata);
        },
      });
    };
  }
}

/** Resolves when a stream has closed; now, where it has. */
function untilClosed(stream: Duplex): Promise<void> {
  return new Promise((resolve) => {
    if (stream.closed) resolve();
    else stream.once('close', resolve);
  });
}

/**
 * Closes a call that is answered and whose request goes on, without an error (RFC 9113 8.1), as servers of other libraries do:
 * its caller may never complete it. A turn later the trailers are sent, and a request that came whole is known to be complete.
 */
function endRequest(stream: ServerHttp2Stream): void {
  const goesOn = (): boolean => !stream.destroyed && stream.state.remoteClose === 0;
  if (!goesOn()) return;
  void nextTurn().then(() => {
    const { sentHeaders, sentTrailers } = stream;
    const isAnswered = sentTrailers !== undefined || (stream.headersSent && sentHeaders['grpc-status'] !== undefined);
    // As long as messages of the answer wait, its trailers could not be sent any more.
    if (isAnswered && goesOn()) stream.close(constants.NGHTTP2_NO_ERROR);
  });
}
