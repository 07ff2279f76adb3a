// Metrics, health and the status page over HTTP: to be read, nothing to change. Never fatal: an address that is taken is
// told once and tried again, because the daemon before us may still be leaving it.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { sleep, type Alarm, type Clock } from '../../kernel/clock.js';
import type { Log } from '../../kernel/log.js';
import { Paces } from '../../kernel/paces.js';
import type { Sharer } from '../../kernel/user-shares.js';
import type { HttpSettings } from '../../model/http.js';
import type { UserFacts } from '../../model/ids.js';
import type { IsTcpTurnedAway } from '../peer/peers.js';
import { NO_READ_AHEAD } from '../peer/read-ahead.js';
import { OneAtATime } from './one-at-a-time.js';
import { peerOf } from './http-peer.js';
import { RequestTurns } from './request-turns.js';
import { ConnectionSlots } from './connection-slots.js';
import { ConnectionTurns } from './connection-turns.js';
import { plainText, Router, type Answer, type Asked, type Routes, type Streaming } from './router.js';
import { CompressedAnswers, sendAnswer, sendStream } from './send.js';

/** A request must be complete within this. */
const REQUEST_MS = 5000;
/** A connection without a request is closed after this. */
const IDLE_MS = 5000;
/** Beyond the slots: for the moment that connections which give way take to close. */
const MOST_SOCKETS = 512;
/**
 * Connections that the kernel queues for us, of which one turn of the loop accepts one: beside a client that connects ten thousand times
 * a second there is room for a tenth of one. One that finds none is tried again by the kernel of its client after a second, then two more.
 */
const BACKLOG = 1024;
const MOST_HEADER_BYTES = 8192;
const MOST_URL_CHARACTERS = 2048;
/** An address that is taken is tried again after this. */
const RETRY_MS = 1000;
/** An answer out of turn on one connection: more would take everybody's time. */
const OUT_OF_TURN_EVERY_MS = 100;
/** Refusals of one user: on all the connections that it can have they would come ten times as often. */
const REFUSALS = { burst: 10, intervalMs: 20, ahead: 64 } as const;

/** A running server, or one that waits for its address. */
export interface HealthServer {
  /** Where it listens now; undefined while it does not. */
  readonly address: AddressInfo | undefined;
  close(): void;
}

/** The users who connect. */
export interface HttpClients extends UserFacts {
  /** The kernel is asked who they are: Peers (platform/peer/peers). */
  readonly peers: {
    /** The uid of a process here that has the other end open, `nobody`, or undefined: unknown. */
    uidOfTcp(socket: Socket): number | 'nobody' | undefined;
    /** Closes connections that wait in the queue of a server, at next to no cost, and has the server take the others. */
    turnAwayMoreTcp(server: Server, isTurnedAway: IsTcpTurnedAway): void;
  };
}

/** The listener of a server: `serveHealth` (daemon/serving). */
export interface HealthServerNews {
  /** Why nothing is served; undefined: something is. */
  readonly told: (why: string | undefined) => void;
  /** It listens at this `host:port`. */
  readonly opened?: (address: string) => void;
  /** It is about to close. */
  readonly closes?: () => void;
}

/** Starts to serve, unless it is switched off. @param routes the pages by path */
export function startHealthServer(
  settings: HttpSettings,
  routes: Routes,
  clock: Clock,
  log: Log,
  news: HealthServerNews,
  clients: HttpClients,
): HealthServer | undefined {
  const { listen, allowedHosts } = settings;
  return listen && new PageServer(listen, new Router(routes, allowedHosts, clock, log), clock, log, news, clients);
}

class PageServer implements HealthServer {
  readonly #listen: { readonly host: string; readonly port: number };
  readonly #router: Router;
  readonly #slots = new ConnectionSlots();
  readonly #connections: ConnectionTurns;
  readonly #turns: RequestTurns;
  readonly #refusals = new Paces<Sharer>(REFUSALS);
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #server: Server;
  readonly #news: HealthServerNews;
  readonly #compressed = new CompressedAnswers();
  #retry: Alarm | undefined;

  constructor(
    listen: { readonly host: string; readonly port: number },
    router: Router,
    clock: Clock,
    log: Log,
    news: HealthServerNews,
    clients: HttpClients,
  ) {
    this.#news = news;
    this.#listen = listen;
    this.#router = router;
    this.#clock = clock;
    this.#log = log;
    const limits = {
      ...NO_READ_AHEAD,
      requestTimeout: REQUEST_MS,
      headersTimeout: REQUEST_MS,
      connectionsCheckingInterval: REQUEST_MS / 2,
      keepAliveTimeout: IDLE_MS,
      maxHeaderSize: MOST_HEADER_BYTES,
    };
    this.#server = createServer(limits, (request, response) => {
      this.#serve(request, response).catch(() => response.destroy());
    });
    // Also ends a peer that does not read its answer.
    this.#server.timeout = 2 * REQUEST_MS;
    this.#server.maxConnections = MOST_SOCKETS;
    // The server's own listener gets each connection through us, one request at a time.
    const listeners = this.#server.listeners('connection');
    this.#turns = new RequestTurns(clock);
    this.#connections = new ConnectionTurns(clock, (raw, peer) => {
      const socket = new OneAtATime(raw, peer);
      this.#slots.take(socket);
      for (const listener of listeners) listener.call(this.#server, socket);
    });
    const isTurnedAway: IsTcpTurnedAway = (address, uid) => this.#connections.isFull(peerOf(address, uid, clients));
    this.#server.removeAllListeners('connection').on('connection', (raw: Socket) => {
      const { remoteAddress } = raw;
      // It is over already, and whose it was is not to be known: nobody waits for an answer.
      if (remoteAddress === undefined) raw.destroy();
      else if (this.#connections.take(raw, peerOf(remoteAddress, clients.peers.uidOfTcp(raw), clients))) return;
      // Behind one that is closed there are most often many of the same peer, and a probe would find no place in the queue.
      clients.peers.turnAwayMoreTcp(this.#server, isTurnedAway);
    });
    this.#server.on('clientError', (failure: NodeJS.ErrnoException, socket: Duplex) => refuseBytes(failure, socket));
    this.#server.on('error', (failure) => this.#failed(failure));
    this.#server.on('listening', () => this.#listening());
    this.#server.listen({ ...this.#listen, backlog: BACKLOG });
    this.#server.unref();
  }

  get address(): AddressInfo | undefined {
    const address = this.#server.address();
    return typeof address === 'object' && address !== null ? address : undefined;
  }

  close(): void {
    this.#news.closes?.();
    this.#retry?.cancel();
    this.#server.removeAllListeners('error').on('error', () => undefined);
    this.#connections.close();
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => undefined);
    request.resume();
    const { method = '', url = '', headers } = request;
    const socket = request.socket as unknown as OneAtATime;
    // Nobody has to send us a body. None is read: its connection ends with the answer.
    const isLast = headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
    if (isLast) response.shouldKeepAlive = false;
    const answered = this.#slots.begin(socket);
    const gone = new AbortController();
    response.once('close', () => {
      answered();
      gone.abort(new Error('the caller went away'));
      if (isLast) socket.destroySoon();
      else socket.next();
    });
    const [path = '', ...query] = url.split('?');
    const asked: Asked = {
      method,
      path,
      query: new URLSearchParams(url.length > MOST_URL_CHARACTERS ? '' : query.join('?')),
      host: headers.host,
      fetch: {
        site: one(headers['sec-fetch-site']),
        mode: one(headers['sec-fetch-mode']),
        dest: one(headers['sec-fetch-dest']),
      },
      lastEventId: one(headers['last-event-id']),
      signal: gone.signal,
      sharer: socket.peer.sharer,
    };
    const answer = await this.#answer(asked, url, socket, response);
    if (socket.destroyed) return;
    if ('open' in answer) sendStream(request, response, answer);
    else await sendAnswer(request, response, answer, this.#compressed);
  }

  /** The answer, in its turn; one that needs none, as that to a probe, waits for those before it on its own connection. */
  async #answer(asked: Asked, url: string, socket: OneAtATime, response: ServerResponse): Promise<Answer | Streaming> {
    const isTooLong = url.length > MOST_URL_CHARACTERS;
    const isProbe = !isTooLong && this.#router.isProbe(asked.path);
    const leave = isTooLong || isProbe ? undefined : this.#slots.room(socket, this.#router.isMetrics(asked.path));
    if (leave === undefined) {
      // A probe comes once a second, most often on a connection of its own: it does not wait.
      const now = this.#clock.mono();
      const { sharer } = socket.peer;
      const ofUserMs = isProbe || sharer === undefined ? 0 : this.#refusals.book(sharer, now).waitMs;
      const waitMs = Math.max(ofUserMs, socket.outOfTurn(now, OUT_OF_TURN_EVERY_MS));
      if (waitMs > 0) await sleep(this.#clock, waitMs, asked.signal);
      if (isTooLong) return plainText(414, `an address here has at most ${String(MOST_URL_CHARACTERS)} characters`);
      if (isProbe) return this.#router.answer(asked);
      return plainText(503, 'too much is asked at once; come back in a moment', { 'retry-after': '5' });
    }
    // Before the next request of the same connection begins.
    response.prependOnceListener('close', leave);
    await this.#turns.take(socket.peer, asked.signal);
    return this.#router.answer(asked);
  }

  #listening(): void {
    const { address = '', family = '', port = 0 } = this.address ?? {};
    const where = family === 'IPv6' ? `[${address}]:${port}` : `${address}:${port}`;
    this.#news.told(undefined);
    this.#news.opened?.(where);
    this.#log.info('http.listening', `metrics and health are served on ${where}`, { address: where });
  }

  #failed(failure: NodeJS.ErrnoException): void {
    const { host, port } = this.#listen;
    // The daemon before us is given a moment to leave it.
    if (this.#retry !== undefined)
      this.#news.told(
        `metrics and health are not served, because ${host}:${port} cannot be used (${failure.code ?? failure.message}); it is tried again each second; change http.listen or set it to off`,
      );
    if (this.#server.listening) return;
    this.#retry?.cancel();
    this.#retry = this.#clock.alarm(RETRY_MS, () => this.#server.listen({ ...this.#listen, backlog: BACKLOG }));
  }
}

/** A header that stands there once, if at all. */
function one(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : value?.[0];
}

/** Bytes that are no request, or too large for one, are answered with one sentence. */
function refuseBytes({ code }: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const [status, sentence] = BAD_BYTES.get(code ?? '') ?? ['400 Bad Request', 'this is no request of HTTP/1.1'];
  const head = `HTTP/1.1 ${status}\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n`;
  socket.end(`${head}content-length: ${String(sentence.length + 1)}\r\n\r\n${sentence}\n`);
}

const BAD_BYTES: ReadonlyMap<string, readonly [status: string, sentence: string]> = new Map([
  [
    'HPE_HEADER_OVERFLOW',
    ['431 Request Header Fields Too Large', `address and headers have at most ${String(MOST_HEADER_BYTES)} bytes`],
  ],
  ['ERR_HTTP_REQUEST_TIMEOUT', ['408 Request Timeout', 'the request was not complete in time']],
]);
