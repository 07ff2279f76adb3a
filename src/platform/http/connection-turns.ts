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
/** Of all peers that have to wait: half of the connections that the server holds. */
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
   * Whether a further connection of a peer is closed. One whose turn is there never is: others that wait are no reason for that, since
   * one user may have several names (`peerOf`).
   */
  isFull({ name, sharer }: HttpPeer): boolean {
    if (sharer === undefined) return false;
    const waitMs = this.#paces.waitMs(name, this.#clock.mono());
    return waitMs > 0 && (this.#waiting.size >= MOST_WAITING || waitMs > NEW.ahead * NEW.intervalMs);
  }

  /**
   * Takes a connection up in the turn of its peer, or closes it. Root's needs none, as the kubelet and most collectors of metrics are,
   * and where users are not told apart none does: a probe is not kept out.
   *
   * @returns false: it is closed
   */
  take(socket: Socket, peer: HttpPeer): boolean {
    if (this.isFull(peer)) {
      socket.destroy();
      return false;
    }
    const waitMs = peer.sharer === undefined ? 0 : this.#paces.book(peer.name, this.#clock.mono()).waitMs;
    if (waitMs === 0) {
      this.#taken(socket, peer);
      return true;
    }
    const gone = (): void => this.#forget(socket);
    socket.on('error', gone).once('close', gone);
    const begin = (): void => {
      this.#forget(socket);
      socket.off('error', gone).off('close', gone);
      this.#taken(socket, peer);
    };
    this.#waiting.set(socket, this.#clock.alarm(waitMs, begin));
    return true;
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
