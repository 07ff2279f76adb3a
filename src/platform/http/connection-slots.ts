// Slots for connections. An idle connection gives way to a newcomer, so that nobody keeps probes out by holding connections; and
// a part of the slots is for probes alone.
import type { OneAtATime } from './one-at-a-time.js';

/** Connections at a time. */
const MOST_CONNECTIONS = 64;
/** Requests being answered at a time that are no probes: fewer, so that some connections can always give way. */
const MOST_REQUESTS = 48;
/** The same with those for metrics, which come by the clock as probes do, and cost more. */
const MOST_WITH_METRICS = 56;
const CROWDED = 'too many connections are open; come back in a moment\n';
/** The answer to a connection that gave way before it was answered. */
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
export class ConnectionSlots {
  /** Connections, oldest first, and whether they were told all they wait for. */
  readonly #open = new Map<OneAtATime, { wasServed: boolean }>();
  /** Those with a request that is being answered and is no probe. */
  readonly #busy = new Set<OneAtATime>();

  /**
   * Takes a connection, and ends the oldest one that is not being answered where there are too many. A probe is answered at
   * once unless its connection asks too often or does not read, and then it keeps nobody else out.
   */
  take(socket: OneAtATime): void {
    this.#open.set(socket, { wasServed: false });
    socket.once('close', () => this.#open.delete(socket));
    if (this.#open.size <= MOST_CONNECTIONS) return;
    for (const [one, { wasServed }] of this.#open) {
      if (this.#busy.has(one)) continue;
      this.#open.delete(one);
      if (one.writableLength > 0) {
        // It does not read its answers.
        one.destroy();
        return;
      }
      if (!wasServed) one.write(GIVE_WAY);
      one.destroySoon();
      return;
    }
  }

  /** Begins to answer a request. @returns the function to call when it is answered */
  begin(socket: OneAtATime): () => void {
    const asking = this.#open.get(socket);
    if (asking !== undefined) asking.wasServed = false;
    return () => {
      if (!this.#open.has(socket)) return;
      // Answered last: newest again.
      this.#open.delete(socket);
      this.#open.set(socket, { wasServed: true });
    };
  }

  /** A slot for a request that is no probe: the function to call when it is answered, or undefined where there is none. */
  room(socket: OneAtATime, isMetrics: boolean): (() => void) | undefined {
    if (this.#busy.size >= (isMetrics ? MOST_WITH_METRICS : MOST_REQUESTS)) return undefined;
    this.#busy.add(socket);
    return () => {
      this.#busy.delete(socket);
    };
  }
}
