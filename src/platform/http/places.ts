// Room for connections. Whoever asks for nothing gives way to who comes, so that nobody keeps probes out by holding
// connections; and a part of the room is for probes alone.
import type { OneAtATime } from './one-at-a-time.js';

/** Connections at a time. */
const MOST_CONNECTIONS = 64;
/** Requests being answered at a time that are no probes. */
const MOST_REQUESTS = 48;
const CROWDED = 'too many connections are open; come back in a moment\n';
/** What somebody is told who gave way before it had asked. */
const GIVE_WAY = [
  'HTTP/1.1 503 Service Unavailable',
  'content-type: text/plain; charset=utf-8',
  `content-length: ${String(CROWDED.length)}`,
  'retry-after: 5',
  'connection: close',
  '',
  CROWDED,
].join('\r\n');

/** All connections of one server. */
export class Places {
  /** Connections, oldest first, and whether they were answered once. */
  readonly #open = new Map<OneAtATime, { wasServed: boolean }>();
  /** Those with a request that is not answered. */
  readonly #busy = new Set<OneAtATime>();
  #requests = 0;

  /** Takes a connection, and ends the oldest one without a request where there are too many. */
  take(socket: OneAtATime): void {
    this.#open.set(socket, { wasServed: false });
    socket.once('close', () => this.#open.delete(socket));
    if (this.#open.size <= MOST_CONNECTIONS) return;
    for (const [one, { wasServed }] of this.#open) {
      if (this.#busy.has(one)) continue;
      this.#open.delete(one);
      if (!wasServed) one.write(GIVE_WAY);
      one.destroySoon();
      return;
    }
  }

  /**
   * Begins to answer a request.
   *
   * @returns what to call when it is answered
   */
  begin(socket: OneAtATime): () => void {
    this.#busy.add(socket);
    return () => {
      this.#busy.delete(socket);
      const place = this.#open.get(socket);
      if (place === undefined) return;
      // Answered last: newest again.
      this.#open.delete(socket);
      this.#open.set(socket, { wasServed: true });
    };
  }

  /** Room for a request that is no probe: what to call when it is answered, or undefined where there is none. */
  room(): (() => void) | undefined {
    if (this.#requests >= MOST_REQUESTS) return undefined;
    this.#requests += 1;
    return () => {
      this.#requests -= 1;
    };
  }
}
