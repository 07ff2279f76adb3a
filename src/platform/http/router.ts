// What is served at which path. Before every route: only GET and HEAD, the host check; one making of a page for all who ask
// within its freshness.
import type { Clock } from '../../kernel/clock.js';
import type { Log } from '../../kernel/log.js';
import { isOwnHost } from './host-check.js';

/** What is answered: a status of HTTP and a text. */
export interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

/** One address. */
export interface Route {
  /** Makes the page; never asked twice at a time. */
  readonly make: () => Answer | Promise<Answer>;
  /** An answer this young is given again, milliseconds; 0 or absent: it is made anew. */
  readonly freshMs?: number;
  /** Whoever asks for it may call us by any name: for probes, which tell nothing. */
  readonly anyHost?: boolean;
}

/** Routes by path. */
export type Routes = ReadonlyMap<string, Route>;

/** What of a request matters. */
export interface Asked {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly host: string | undefined;
}

/** Plain text with a newline. */
export function plainText(status: number, text: string): Answer {
  return { status, type: 'text/plain; charset=utf-8', body: `${text}\n` };
}

/** Answers requests. */
export class Router {
  readonly #routes: Routes;
  readonly #allowedHosts: readonly string[];
  readonly #clock: Clock;
  readonly #log: Log;
  /** The last making of a page, done or under way, and when it was begun. */
  readonly #made = new Map<string, { readonly answer: Promise<Answer>; readonly at: number; isDone: boolean }>();

  constructor(routes: Routes, allowedHosts: readonly string[], clock: Clock, log: Log) {
    this.#routes = routes;
    this.#allowedHosts = allowedHosts;
    this.#clock = clock;
    this.#log = log;
  }

  /** The answer to one request. Never rejects. */
  async answer({ method, path, host }: Asked): Promise<Answer> {
    const route = this.#routes.get(path);
    if (route?.anyHost !== true && !isOwnHost(host, this.#allowedHosts)) {
      return plainText(
        421,
        `this server is not ${JSON.stringify((host ?? '').slice(0, 128))}: ask for it by an IP address or as localhost, or add the name to http.allowedHosts`,
      );
    }
    if (route === undefined) return plainText(404, `not found; there is ${[...this.#routes.keys()].join(', ')}`);
    if (method !== 'GET' && method !== 'HEAD') return plainText(405, 'only GET and HEAD');
    try {
      return await this.#make(path, route);
    } catch (failure) {
      this.#log.error('http.page-failed', `the page ${path} could not be made: ${String(failure)}`);
      return plainText(500, 'this page could not be made; see the log');
    }
  }

  #make(path: string, { make, freshMs = 0 }: Route): Promise<Answer> {
    const now = this.#clock.mono();
    const last = this.#made.get(path);
    if (last !== undefined && (!last.isDone || now - last.at < freshMs)) return last.answer;
    const made = { answer: Promise.resolve().then(make), at: now, isDone: false };
    this.#made.set(path, made);
    const done = (): void => {
      made.isDone = true;
    };
    const failed = (): void => {
      if (this.#made.get(path) === made) this.#made.delete(path);
    };
    made.answer.then(done, failed);
    return made.answer;
  }
}
