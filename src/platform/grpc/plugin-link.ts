// One connection to a socket of a plugin: the socket, the border before it, and Node's HTTP/2 on top. Calls may be put on it
// before it is established. It never comes back once it has ended: a caller that needs another one makes it.
import {
  connect as connectSession,
  constants,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type OutgoingHttpHeaders,
} from 'node:http2';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ifPossible } from '../../kernel/if-possible.js';
import type { ConnectionEnd } from '../../model/connection-ends.js';
import { ClientBorder } from '../http2/client-border.js';
import { forgetFrames } from '../http2/session-failure.js';
import { dialUnix } from '../peer/passed-descriptors.js';
import { NO_READ_AHEAD } from '../peer/read-ahead.js';
import { nextTurn } from '../time/next-turn.js';
import { connectFailure } from './connect-failure.js';
import { POLITE_MS, type Guarding } from './owned-sockets.js';

/** Node would reset calls where large lists come in many pieces: windows and the border bound the data that may arrive. */
const SESSION_MEGABYTES = Number.MAX_SAFE_INTEGER;
/**
 * The most frames that may wait when a call is given up, beside one of each open call. A call that the peer has not let begin (it
 * accepts no further concurrent one, or reads nothing) stays one, without its request, until the peer does: about 4 KiB.
 */
const MOST_STUCK = 64;
/** The same of a connection that takes no further calls: a plugin may have several, each as long as one of its calls lasts. */
const MOST_STUCK_LEAVING = 8;

/** A connection. */
export class PluginLink {
  readonly #guarding: Guarding;
  readonly #target: string;
  readonly #uid: number | undefined;
  readonly #socket: Socket;
  #session: ClientHttp2Session | undefined;
  #isUp = false;
  #hasEnded = false;
  #fault: ConnectionEnd | undefined;
  #error: Error | undefined;
  /** Calls that wait for the connection. */
  readonly #waiting: (() => void)[] = [];
  readonly #followers: (() => void)[] = [];
  #isClosing = false;
  #border: Duplex | undefined;
  /** The calls that are open. */
  readonly #calls = new Set<ClientHttp2Stream>();

  /**
   * Dials at once.
   *
   * @param dialPath a path of a pin: exactly the file that was checked
   * @param target where the socket is, for messages
   * @param uid of its owner, where that is known
   */
  constructor(dialPath: string, target: string, guarding: Guarding, uid?: number) {
    this.#guarding = guarding;
    this.#uid = uid;
    this.#target = target;
    this.#socket = dialUnix(dialPath, { allowHalfOpen: false, ...NO_READ_AHEAD });
    this.#socket.once('connect', () => this.#connected());
    this.#socket.on('error', (failure: NodeJS.ErrnoException) => {
      // Later failures are reported by the border and the end of the session.
      if (this.#session !== undefined) return;
      this.#error = new Error(connectFailure(failure.code ?? failure.message, target, uid));
    });
    const forget = uid === undefined ? undefined : guarding.unsent?.follow(uid, this);
    this.#socket.once('close', () => {
      forget?.();
      if (this.#session === undefined) this.#ended();
    });
  }

  /** Octets of requests that have not left: with the calls themselves, or, also of calls that are over, before the socket. */
  get unsentBytes(): number {
    let bytes = this.#border?.writableLength ?? 0;
    for (const { writableLength } of this.#calls) bytes += writableLength;
    return bytes;
  }

  /** Whether further calls may be put on it. */
  get isUsable(): boolean {
    return (
      !this.#socket.destroyed && !this.#isClosing && this.#session?.closed !== true && this.#session?.destroyed !== true
    );
  }

  /** The peer said GOAWAY: it takes no further calls, and ends with the last of those under way. False where many cannot even be reset. */
  get isLeaving(): boolean {
    if (this.isLost || this.#isClosing || this.#session?.closed !== true) return false;
    return this.#stuck <= MOST_STUCK_LEAVING;
  }

  /** Whether the peer has begun to speak HTTP/2. */
  get isUp(): boolean {
    return this.#isUp && this.isUsable;
  }

  /** Whether it has ended, or is about to because one of its ends was lost. */
  get isLost(): boolean {
    return this.#socket.destroyed || this.#fault !== undefined || this.#session?.destroyed === true;
  }

  /** Why the border ended it; undefined when it did not. */
  get fault(): ConnectionEnd | undefined {
    return this.#fault;
  }

  /** Why it was lost, in words; a peer that never spoke HTTP/2 is told apart from a connection lost later. */
  get why(): string {
    if (this.#fault !== undefined)
      return `the broker ended the connection, ${this.#fault.code}: ${this.#fault.message}`;
    if (this.#error !== undefined) return this.#error.message;
    return this.#isUp ? 'Connection dropped' : 'Failed to connect: the peer hung up';
  }

  /**
   * Opens a call, at once or as soon as the connection stands.
   *
   * @param begin gets its stream; undefined when the connection has ended before
   */
  open(headers: OutgoingHttpHeaders, begin: (stream: ClientHttp2Stream | undefined) => void): void {
    if (this.#session === undefined && !this.#hasEnded) {
      this.#waiting.push(() => begin(this.#request(headers)));
      return;
    }
    begin(this.#request(headers));
  }

  /** Resets a call of it. With too many that cannot be reset it is lost. */
  giveUp(stream: ClientHttp2Stream): void {
    if (stream.destroyed) return;
    stream.close(constants.NGHTTP2_CANCEL);
    void nextTurn().then(() => {
      // A reset that can leave has left. Node would keep the request of any other call until the connection ends.
      stream.destroy();
      this.#calls.delete(stream);
      if (this.#stuck <= MOST_STUCK || this.#socket.destroyed) return;
      this.#error ??= new Error(`${String(this.#stuck)} calls that were given up could not be reset`);
      this.#socket.destroy();
    });
  }

  /** Calls back once when the peer has begun to speak, or when it has ended; at once where that is so. */
  whenUp(settled: () => void): void {
    if (this.#isUp || this.#hasEnded) settled();
    else this.#followers.push(settled);
  }

  /** Calls back once when its socket is closed. Call it before that. */
  whenEnded(ended: () => void): void {
    this.#socket.once('close', ended);
  }

  /** Calls back once when it has ended, or takes no further calls. Not after close(). */
  whenLost(lost: () => void): void {
    const session = this.#session;
    if (!this.isUp || session === undefined) {
      lost();
      return;
    }
    let isTold = false;
    const tell = (): void => {
      if (isTold || this.#isClosing) return;
      isTold = true;
      lost();
    };
    session.once('goaway', tell);
    this.#followers.push(tell);
  }

  /** Ends it, for certain; calls that are open get a moment. Idempotent. */
  close(): void {
    if (this.#isClosing || this.#hasEnded) return;
    this.#isClosing = true;
    if (this.#session === undefined) {
      this.#socket.destroy();
      return;
    }
    this.#session.close();
    // Node waits until nothing is left to send, and under load sometimes for ever.
    const alarm = this.#guarding.clock.alarm(POLITE_MS, () => this.#socket.destroy());
    this.#socket.once('close', () => alarm.cancel());
  }

  /** Frames that Node could not send yet, beside one of each open call: those of calls that were given up. */
  get #stuck(): number {
    return (this.#session?.state.outboundQueueSize ?? 0) - this.#calls.size;
  }

  #connected(): void {
    const { clock, guard, onEnd, reads } = this.#guarding;
    const border: Duplex = new ClientBorder(this.#socket, {
      guard: guard(),
      clock,
      reads: reads?.(this.#uid),
      onEnd: (end) => {
        this.#fault = end;
        onEnd?.(end, this.#target, this.#uid);
      },
    });
    this.#border = border;
    const session = connectSession('http://localhost', {
      createConnection: () => border,
      maxSessionMemory: SESSION_MEGABYTES,
    });
    this.#session = session;
    // The border takes turns with others for it: of a process that ends, hundreds are lost at one moment.
    border.once('close', () => this.#ended());
    session.on('error', (failure: Error) => {
      forgetFrames(failure);
      this.#error ??= failure;
    });
    session.once('close', () => this.#socket.destroy());
    session.once('remoteSettings', () => {
      this.#isUp = true;
      this.#tell();
    });
    for (const begin of this.#waiting.splice(0)) begin();
  }

  #request(headers: OutgoingHttpHeaders): ClientHttp2Stream | undefined {
    // Undefined, too, where the session takes no more calls.
    const stream = this.isLost ? undefined : ifPossible(() => this.#session?.request(headers));
    if (stream === undefined) return undefined;
    this.#calls.add(stream);
    stream.once('close', () => this.#calls.delete(stream));
    return stream;
  }

  #ended(): void {
    this.#hasEnded = true;
    for (const begin of this.#waiting.splice(0)) begin();
    this.#tell();
  }

  #tell(): void {
    for (const tell of this.#followers.splice(0)) tell();
  }
}
