// A connection to a driver's service socket that is kept: first to exactly the socket that was pinned, after a loss to the
// present listener at the same real path under the same uid, because a driver that restarts makes its socket anew.
import { backoffMs, type BackoffBounds } from '../../kernel/backoff.js';
import { abortable, asError, sleep } from '../../kernel/clock.js';
import type { Surroundings } from '../../kernel/surroundings.js';
import type { PinnedSocket, PinProblem } from '../../model/plugin.js';
import { GRPC_STATUS } from '../../model/reasons.js';
import type { ServiceListener } from '../../model/service-listener.js';
import type { Guarding } from './owned-sockets.js';
import { CallFailed, PluginChannel } from './plugin-client.js';

/** The ports of a connection. */
export interface ServiceConnectionPorts extends Pick<Surroundings, 'clock' | 'random'> {
  /** `SocketPaths.pin` (platform/fs/socket-paths). */
  readonly pin: (path: string) => PinnedSocket | PinProblem;
  readonly maxMessageBytes: number;
  /** The guards of connections to the driver. */
  readonly guarding: Guarding;
}

/** Connecting to a socket on this machine takes microseconds; a peer that needs longer than this hangs. */
const CONNECT_MS = 10_000;
const RETRY: BackoffBounds = { firstMs: 100, maxMs: 2000 };
/** A connection that lasted this long has proved itself: the next loss is taken up at once again. */
const PROVEN_AFTER_MS = 5000;

/** Keeps one connection and tells how it is. */
export class ServiceConnection {
  readonly #ports: ServiceConnectionPorts;
  readonly #listener: ServiceListener;
  #path: string;
  readonly #uid: number;
  readonly #halt = new AbortController();
  #channel: PluginChannel | undefined;
  #unavailable = new CallFailed(GRPC_STATUS.UNAVAILABLE, 'the service socket does not answer', 'unreachable');

  constructor(endpoint: PinnedSocket, listener: ServiceListener, ports: ServiceConnectionPorts) {
    this.#ports = ports;
    this.#listener = listener;
    this.#path = endpoint.path;
    this.#uid = endpoint.uid;
    void this.#keep(endpoint.retain());
  }

  /**
   * One call on the present connection, or on the one that is being made.
   *
   * @throws CallFailed; while there is none UNAVAILABLE, in the words of the call that failed last
   */
  async unary(method: string, request: Buffer, limitMs: number, signal: AbortSignal): Promise<Buffer> {
    const channel = this.#channel;
    if (channel === undefined) throw this.#unavailable;
    try {
      return await channel.unary(method, request, limitMs, signal);
    } catch (failure) {
      // Calls tell why nobody could be reached; the state of a channel does not.
      if (failure instanceof CallFailed && failure.status === GRPC_STATUS.UNAVAILABLE) this.#unavailable = failure;
      throw failure;
    }
  }

  /** The socket is found by another path from now on: it had several names, and the one it was dialled by has gone. */
  renamed(path: string): void {
    this.#path = path;
  }

  /** Ends it. Idempotent. */
  close(): void {
    this.#halt.abort(new Error('closed'));
    this.#channel?.close();
    this.#channel = undefined;
  }

  get #isClosed(): boolean {
    return this.#halt.signal.aborted;
  }

  async #keep(first: PinnedSocket): Promise<void> {
    const { clock, random, maxMessageBytes } = this.#ports;
    const { signal } = this.#halt;
    let pin: PinnedSocket | string = first;
    for (let attempt = 1; ; attempt++) {
      const startedAt = clock.mono();
      const details: string = typeof pin === 'string' ? pin : await this.#use(pin, maxMessageBytes);
      if (this.#isClosed) return;
      if (clock.mono() - startedAt >= PROVEN_AFTER_MS) attempt = 1;
      this.#listener.lost(details);
      const turnMs = this.#ports.guarding.comebackMs?.(this.#uid) ?? 0;
      try {
        await sleep(clock, turnMs + backoffMs(attempt, RETRY, random.next()), signal);
      } catch {
        return;
      }
      pin = this.#pinAgain();
    }
  }

  /** Connects and waits for the end. Takes over the pin. Returns why it ended. */
  async #use(pin: PinnedSocket, maxMessageBytes: number): Promise<string> {
    const channel = new PluginChannel(pin.dialPath, maxMessageBytes, this.#ports.guarding, pin.path, pin.uid);
    this.#channel = channel;
    const { signal } = this.#halt;
    try {
      await channel.connect(CONNECT_MS, signal);
      this.#listener.up();
      await abortable(new Promise<void>((resolve) => channel.onConnectionLost(resolve)), signal);
      return 'the connection ended';
    } catch (failure) {
      return asError(failure).message;
    } finally {
      this.#channel = undefined;
      channel.close();
      pin.release();
    }
  }

  #pinAgain(): PinnedSocket | string {
    const pin = this.#ports.pin(this.#path);
    if ('problem' in pin) return pin.problem === 'missing' ? 'its socket file is gone' : pin.detail;
    if (pin.path === this.#path && pin.uid === this.#uid) return pin;
    pin.release();
    return pin.path === this.#path
      ? `its socket now belongs to uid ${String(pin.uid)}`
      : 'its path leads elsewhere now';
  }
}
