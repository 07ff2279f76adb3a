// How fast new connections of one peer are taken up: a probe asks on a connection of its own each time, and is answered at once, so
// that a peer which connects as fast as it can would take everybody's time.
import type { Socket } from 'node:net';
import type { Alarm, Clock } from '../../kernel/clock.js';
import { Paces } from '../../kernel/paces.js';
import type { HttpPeer } from './http-peer.js';

/**
 * Connections at once and then one each interval; of those beyond it `ahead` wait for their turn, and further ones are closed. Many
 * wait, because a peer that is closed connects again at once, and one that waits does not.
 */
const NEW = { burst: 64, intervalMs: 50, ahead: 128 } as const;
/** Of all peers: half of the connections that the server holds. */
const MOST_WAITING = 256;

/** New connections, in the turns of their peers. */
export class ConnectionTurns {
  readonly #clock: Clock;
  readonly #taken: (socket: Socket, peer: HttpPeer) => void;
  readonly #paces = new Paces<string>(NEW);
  /** Nothing is read of these. */
  readonly #waiting = new Map<Socket, Alarm>();

  /** @param taken is given each connection in its turn */
  constructor(clock: Clock, taken: (socket: Socket, peer: HttpPeer) => void) {
    this.#clock = clock;
    this.#taken = taken;
  }

  /**
   * Takes a connection up in the turn of its peer. Root's needs none, as the kubelet and most collectors of metrics are, and where
   * users are not told apart none does: a probe is not kept out.
   */
  take(socket: Socket, peer: HttpPeer): void {
    if (peer.sharer === undefined) return this.#taken(socket, peer);
    const now = this.#clock.mono();
    const isFull =
      this.#waiting.size >= MOST_WAITING || this.#paces.waitMs(peer.name, now) > NEW.ahead * NEW.intervalMs;
    if (isFull) return void socket.destroy();
    const { waitMs } = this.#paces.book(peer.name, now);
    if (waitMs === 0) return this.#taken(socket, peer);
    const gone = (): void => this.#forget(socket);
    socket.on('error', gone).once('close', gone);
    const begin = (): void => {
      this.#forget(socket);
      socket.off('error', gone).off('close', gone);
      this.#taken(socket, peer);
    };
    this.#waiting.set(socket, this.#clock.alarm(waitMs, begin));
  }

  /** Ends those that wait. */
  close(): void {
    for (const socket of [...this.#waiting.keys()]) {
      this.#forget(socket);
      socket.destroy();
    }
  }

  #forget(socket: Socket): void {
    this.#waiting.get(socket)?.cancel();
    this.#waiting.delete(socket);
  }
}
