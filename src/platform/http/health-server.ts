// Metrics and health over HTTP: three addresses to read, nothing to change. Never fatal: an address that
// is taken is told once and tried again, because the daemon before us may still be leaving it.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { sleep, type Alarm, type Clock } from '../../kernel/clock.js';
import type { Log } from '../../kernel/log.js';
import type { HttpSettings } from '../../model/settings.js';
import { PeerPace } from './peer-pace.js';
import { Router, type Routes } from './router.js';

/** A request must be complete within this. */
const REQUEST_MS = 5000;
/** A connection without a request is closed after this. */
const IDLE_MS = 5000;
const MOST_CONNECTIONS = 64;
const MOST_HEADER_BYTES = 8192;
/** An address that is taken is tried again after this. */
const RETRY_MS = 1000;

/** A running server, or one that waits for its address. */
export interface HealthServer {
  /** Where it listens now; undefined while it does not. */
  readonly address: AddressInfo | undefined;
  close(): void;
}

/**
 * Starts to serve, unless it is switched off.
 *
 * @param routes what is served by path
 * @param told is told why nothing is served, and with undefined that something is
 */
export function startHealthServer(
  settings: HttpSettings,
  routes: Routes,
  clock: Clock,
  log: Log,
  told: (why: string | undefined) => void,
): HealthServer | undefined {
  const { listen, allowedHosts } = settings;
  return listen && new PageServer(listen, new Router(routes, allowedHosts, clock, log), clock, log, told);
}

class PageServer implements HealthServer {
  readonly #listen: { readonly host: string; readonly port: number };
  readonly #router: Router;
  readonly #pace = new PeerPace();
  /** Connections with a request that is not answered. */
  readonly #busy = new WeakSet<Socket>();
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #server: Server;
  readonly #told: (why: string | undefined) => void;
  #retry: Alarm | undefined;

  constructor(
    listen: { readonly host: string; readonly port: number },
    router: Router,
    clock: Clock,
    log: Log,
    told: (why: string | undefined) => void,
  ) {
    this.#told = told;
    this.#listen = listen;
    this.#router = router;
    this.#clock = clock;
    this.#log = log;
    const limits = {
      requestTimeout: REQUEST_MS,
      headersTimeout: REQUEST_MS,
      connectionsCheckingInterval: REQUEST_MS / 2,
      keepAliveTimeout: IDLE_MS,
      maxHeaderSize: MOST_HEADER_BYTES,
    };
    this.#server = createServer(limits, (request, response) => void this.#serve(request, response));
    // Also ends a peer that does not read its answer.
    this.#server.timeout = 2 * REQUEST_MS;
    this.#server.maxConnections = MOST_CONNECTIONS;
    this.#server.on('error', (failure) => this.#failed(failure));
    this.#server.on('listening', () => this.#listening());
    this.#server.listen(this.#listen);
    this.#server.unref();
  }

  get address(): AddressInfo | undefined {
    const address = this.#server.address();
    return typeof address === 'object' && address !== null ? address : undefined;
  }

  close(): void {
    this.#retry?.cancel();
    this.#server.removeAllListeners('error').on('error', () => undefined);
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => undefined);
    const { socket } = request;
    // Whoever pipelines wants to be served faster than it reads: nobody who means well does.
    if (this.#busy.has(socket)) {
      socket.destroy();
      return;
    }
    this.#busy.add(socket);
    response.once('close', () => this.#busy.delete(socket));
    const waitMs = this.#pace.waitMs(socket.remoteAddress ?? '', this.#clock.mono());
    if (waitMs > 0) await sleep(this.#clock, waitMs);
    if (socket.destroyed) return;
    const { method = '', url = '', headers } = request;
    const path = url.split('?', 1)[0] ?? '';
    const { status, type, body } = await this.#router.answer({ method, path, host: headers.host });
    response.writeHead(status, {
      'content-type': type,
      'content-length': Buffer.byteLength(body),
      'cache-control': 'no-store',
      ...(status === 405 ? { allow: 'GET, HEAD' } : {}),
    });
    response.end(method === 'HEAD' ? undefined : body);
    // Nobody has to send us a body, and none is read.
    request.resume();
  }

  #listening(): void {
    const where = this.address === undefined ? '' : `${this.address.address}:${this.address.port}`;
    this.#told(undefined);
    this.#log.info('http.listening', `metrics and health are served on ${where}`, { address: where });
  }

  #failed(failure: NodeJS.ErrnoException): void {
    const { host, port } = this.#listen;
    // The daemon before us is given a moment to leave it.
    if (this.#retry !== undefined)
      this.#told(
        `metrics and health are not served, because ${host}:${port} cannot be used (${failure.code ?? failure.message}); it is tried again each second; change http.listen or set it to off`,
      );
    if (this.#server.listening) return;
    this.#retry?.cancel();
    this.#retry = this.#clock.alarm(RETRY_MS, () => this.#server.listen(this.#listen));
  }
}
