// The pages by path. Before every route: only GET and HEAD, by our name, and not for another site's pages; one rendering of a
// page for all requests within its freshness.
import { isIP } from 'node:net';
import type { Clock } from '../../kernel/clock.js';
import type { Log } from '../../kernel/log.js';
import type { Sharer } from '../../kernel/user-shares.js';
import type { Stream } from '../../page/audience.js';

/** The answer: a status of HTTP and a text, or its bytes. */
export interface Answer {
  readonly status: number;
  readonly type: string;
  /** In pieces where it is put together of such: one that was sent before is packed already. */
  readonly body: string | readonly Buffer[];
  /** Beside those that every answer has. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Large enough to be compressed for clients that can read that. */
  readonly isLarge?: boolean;
  /** Its version: a client that has it already is told so. */
  readonly version?: string;
}

/** An answer that goes on: it is given the open stream, and returns the function to call when its reader goes away. */
export interface Streaming {
  readonly open: (stream: Stream) => () => void;
}

/** One address. */
export interface Route {
  /** Makes the page. With `freshMs` or without a question it is never asked twice at a time. */
  readonly make: (asked: Asked) => Answer | Streaming | Promise<Answer>;
  /** An answer this young is given again, milliseconds; 0 or absent: it is made anew. */
  readonly freshMs?: number;
  /** The answer depends on the path or the query: each is made for itself. */
  readonly isAsked?: boolean;
  /** A client may call us by any name, and is never made to wait: for probes, which tell nothing. */
  readonly isProbe?: boolean;
  /** A half of the connections that are for probes may be taken for it. */
  readonly isMetrics?: boolean;
  /** A page that people come to by links from elsewhere. */
  readonly isEntrance?: boolean;
}

/** Routes by path; one that ends in `/` is for everything below it, except for the root. */
export type Routes = ReadonlyMap<string, Route>;

/** The used parts of a request. */
export interface Asked {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly host: string | undefined;
  /** The headers `Sec-Fetch-Site`, `-Mode` and `-Dest`, which browsers set and pages cannot. */
  readonly fetch: {
    readonly site: string | undefined;
    readonly mode?: string | undefined;
    readonly dest?: string | undefined;
  };
  /** The event number of a reader that comes back. */
  readonly lastEventId?: string | undefined;
  /** Aborts when the caller goes away. */
  readonly signal: AbortSignal;
  /** In whose share of what lasts it counts. */
  readonly sharer: Sharer;
}

/** Plain text with a newline. */
export function plainText(status: number, text: string, headers: Readonly<Record<string, string>> = {}): Answer {
  return { status, type: 'text/plain; charset=utf-8', body: `${text}\n`, headers };
}

/** Answers requests. */
export class Router {
  readonly #routes: Routes;
  readonly #allowedHosts: readonly string[];
  readonly #clock: Clock;
  readonly #log: Log;
  /** The last making of a page, done or under way, and when it was begun. */
  readonly #made = new Map<
    string,
    { readonly answer: Promise<Answer | Streaming>; readonly at: number; isDone: boolean }
  >();

  constructor(routes: Routes, allowedHosts: readonly string[], clock: Clock, log: Log) {
    this.#routes = routes;
    this.#allowedHosts = allowedHosts;
    this.#clock = clock;
    this.#log = log;
  }

  /** Whether a path is for probes. */
  isProbe(path: string): boolean {
    return this.#routes.get(path)?.isProbe === true;
  }

  /** Whether a path is for metrics. */
  isMetrics(path: string): boolean {
    return this.#routes.get(path)?.isMetrics === true;
  }

  /** The answer to one request. Never rejects. */
  async answer(asked: Asked): Promise<Answer | Streaming> {
    const { method, path, host } = asked;
    const route = this.#routeOf(path);
    if (route?.isProbe !== true) {
      if (!isOwnHost(host, this.#allowedHosts)) {
        return plainText(
          421,
          `this server is not ${JSON.stringify((host ?? '').slice(0, 128))}: ask for it by an IP address or as localhost, or add the name to http.allowedHosts`,
        );
      }
      if (isForeign(asked.fetch, route)) return plainText(403, 'pages of other sites are not told anything');
    }
    if (route === undefined) return plainText(404, `not found; there is ${[...this.#routes.keys()].join(', ')}`);
    if (method !== 'GET' && method !== 'HEAD')
      return plainText(405, 'only GET and HEAD: nothing can be changed here', { allow: 'GET, HEAD' });
    try {
      return await this.#make(asked, route);
    } catch (failure) {
      this.#log.error('http.page-failed', `the page ${path} could not be made: ${String(failure)}`);
      return plainText(500, 'this page could not be made; see the log');
    }
  }

  #routeOf(path: string): Route | undefined {
    const exact = this.#routes.get(path);
    if (exact !== undefined) return exact;
    for (const [prefix, route] of this.#routes) {
      if (prefix.length > 1 && prefix.endsWith('/') && path.startsWith(prefix)) return route;
    }
    return undefined;
  }

  #make(asked: Asked, { make, freshMs = 0, isAsked = false }: Route): Promise<Answer | Streaming> {
    if (isAsked) return Promise.resolve().then(() => make(asked));
    const { path } = asked;
    const now = this.#clock.mono();
    const last = this.#made.get(path);
    if (last !== undefined && (!last.isDone || now - last.at < freshMs)) return last.answer;
    const made = { answer: Promise.resolve().then(() => make(asked)), at: now, isDone: false };
    this.#made.set(path, made);
    const done = (): void => {
      made.isDone = true;
      if (freshMs === 0 && this.#made.get(path) === made) this.#made.delete(path);
    };
    const failed = (): void => {
      if (this.#made.get(path) === made) this.#made.delete(path);
    };
    made.answer.then(done, failed);
    return made.answer;
  }
}

/** Whether a browser asks on behalf of another site's page. Following a link from there is no such thing. */
function isForeign({ site, mode, dest }: Asked['fetch'], route: Route | undefined): boolean {
  if (site === undefined || site === 'same-origin' || site === 'none') return false;
  return !(route?.isEntrance === true && mode === 'navigate' && dest === 'document');
}

/**
 * Whether `Host` names this server: an IP address, localhost, or a name that was allowed (http.allowedHosts). A foreign web page
 * can let its own name lead to 127.0.0.1 (DNS rebinding) and read the pages there; then its name stands here.
 */
function isOwnHost(host: string | undefined, allowed: readonly string[]): boolean {
  if (host === undefined) return false;
  const [, bracketed, plain] = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]/@\s]+))(?::\d{1,5})?$/.exec(host) ?? [];
  if (bracketed !== undefined) return isIP(bracketed) === 6;
  if (plain === undefined) return false;
  const name = plain.toLowerCase().replace(/\.$/, '');
  return name === 'localhost' || isIP(name) === 4 || allowed.some((one) => one.toLowerCase() === name);
}
