// Metrics and health over HTTP (contract 11): three addresses to read, nothing to change. Never fatal: an address that
// is taken is told once and tried again, because the daemon before us may still be leaving it.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Alarm, Clock } from '../../kernel/clock.js';
import type { Log } from '../../kernel/log.js';
import type { HttpSettings } from '../../model/settings.js';

/** A request must be complete within this. */
const REQUEST_MS = 5000;
/** A connection without a request is closed after this. */
const IDLE_MS = 5000;
const MOST_CONNECTIONS = 64;
const MOST_HEADER_BYTES = 8192;
/** An address that is taken is tried again after this. */
const RETRY_MS = 1000;

/** What is answered: a status of HTTP and a text. */
export interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

/** Answers one path; undefined: there is nothing. */
export type Pages = ReadonlyMap<string, () => Answer | Promise<Answer>>;

/** Plain text with a newline. */
export function plainText(status: number, text: string): Answer {
  return { status, type: 'text/plain; charset=utf-8', body: `${text}\n` };
}

/** A running server, or one that waits for its address. */
export interface HealthServer {
  /** Where it listens now; undefined while it does not. */
  readonly address: AddressInfo | undefined;
  close(): void;
}

/**
 * Starts to serve, unless it is switched off.
 *
 * @param pages what is served by path; each is asked once at a time however many ask
 */
export function startHealthServer(
  settings: HttpSettings,
  pages: Pages,
  clock: Clock,
  log: Log,
): HealthServer | undefined {
  return settings.listen === undefined ? undefined : new PageServer(settings.listen, pages, clock, log);
}

class PageServer implements HealthServer {
  readonly #listen: { readonly host: string; readonly port: number };
  readonly #pages: Pages;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #server: Server;
  readonly #running = new Map<string, Promise<Answer>>();
  #retry: Alarm | undefined;
  #isWarned = false;

  constructor(listen: { readonly host: string; readonly port: number }, pages: Pages, clock: Clock, log: Log) {
    this.#listen = listen;
    this.#pages = pages;
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
    const { status, type, body } = await this.#answer(request.method ?? '', (request.url ?? '').split('?', 1)[0] ?? '');
    response.writeHead(status, {
      'content-type': type,
      'content-length': Buffer.byteLength(body),
      'cache-control': 'no-store',
      ...(status === 405 ? { allow: 'GET, HEAD' } : {}),
    });
    response.end(request.method === 'HEAD' ? undefined : body);
    // Nobody has to send us a body, and none is read.
    request.resume();
  }

  async #answer(method: string, path: string): Promise<Answer> {
    const page = this.#pages.get(path);
    if (page === undefined) return plainText(404, `not found; there is ${[...this.#pages.keys()].join(', ')}`);
    if (method !== 'GET' && method !== 'HEAD') return plainText(405, 'only GET and HEAD');
    const running = this.#running.get(path) ?? Promise.resolve().then(page);
    this.#running.set(path, running);
    try {
      return await running;
    } catch (failure) {
      this.#log.error('http.page-failed', `the page ${path} could not be made: ${String(failure)}`);
      return plainText(500, 'this page could not be made; see the log');
    } finally {
      this.#running.delete(path);
    }
  }

  #listening(): void {
    const where = this.address === undefined ? '' : `${this.address.address}:${this.address.port}`;
    this.#log.info('http.listening', `metrics and health are served on ${where}`, { address: where });
  }

  #failed(failure: NodeJS.ErrnoException): void {
    if (!this.#isWarned) {
      this.#isWarned = true;
      const { host, port } = this.#listen;
      this.#log.warn(
        'http.not-listening',
        `metrics and health are not served, because ${host}:${port} cannot be used (${failure.code ?? failure.message}); it is tried again each second; change http.listen or set it to off`,
      );
    }
    if (this.#server.listening) return;
    this.#retry?.cancel();
    this.#retry = this.#clock.alarm(RETRY_MS, () => this.#server.listen(this.#listen));
  }
}
