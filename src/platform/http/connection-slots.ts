// Slots for connections. An idle connection gives way to a newcomer, so that nobody keeps probes out by holding connections; and
// a part of the slots is for probes alone. Users have shares of those for requests.
import { fullShareFor, type Sharer } from '../../kernel/user-shares.js';
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
  /** Those with a request that is being answered and is no probe, and whether it is one for metrics. */
  readonly #busy = new Map<OneAtATime, { readonly isMetrics: boolean }>();

  /**
   * Takes a connection, and ends the oldest one that is not being answered, of the user that has most, where there are too many. A
   * probe is answered at once unless its connection asks too often or does not read, and then it keeps nobody else out.
   */
  take(socket: OneAtATime): void {
    this.#open.set(socket, { wasServed: false });
    socket.once('close', () => this.#open.delete(socket));
    if (this.#open.size <= MOST_CONNECTIONS) return;
    const one = this.#nextToGo();
    if (one === undefined) return;
    const wasServed = this.#open.get(one)?.wasServed;
    this.#open.delete(one);
    if (one.writableLength > 0) {
      // It does not read its answers.
      one.destroy();
      return;
    }
    if (wasServed !== true) one.write(GIVE_WAY);
    one.destroySoon();
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

  /**
   * A slot for a request that is no probe: the function to call when it is answered, or undefined where its user has none. Those for
   * metrics have the slots of the others, too, but not the other way round.
   */
  room(socket: OneAtATime, isMetrics: boolean): (() => void) | undefined {
    const { sharer } = socket.peer;
    const all = [...this.#busy];
    const others = all.filter(([, busy]) => !busy.isMetrics);
    if (fullShareFor(sharer, all.map(sharerOf), MOST_WITH_METRICS) !== undefined) return undefined;
    if (!isMetrics && fullShareFor(sharer, others.map(sharerOf), MOST_REQUESTS) !== undefined) return undefined;
    this.#busy.set(socket, { isMetrics });
    return () => {
      this.#busy.delete(socket);
    };
  }

  /** The connection that gives way: otherwise one user's newcomers would end those that others keep open. */
  #nextToGo(): OneAtATime | undefined {
    const held = new Map<Sharer, number>();
    for (const { peer } of this.#open.keys()) held.set(peer.sharer, (held.get(peer.sharer) ?? 0) + 1);
    const heldBy = ({ peer }: OneAtATime): number => held.get(peer.sharer) ?? 0;
    const idle = [...this.#open.keys()].filter((one) => !this.#busy.has(one));
    const [first, ...others] = idle;
    // The oldest of equals.
    return others.reduce((most, one) => (most !== undefined && heldBy(most) >= heldBy(one) ? most : one), first);
  }
}

function sharerOf([{ peer }]: readonly [OneAtATime, unknown]): Sharer {
  return peer.sharer;
}
