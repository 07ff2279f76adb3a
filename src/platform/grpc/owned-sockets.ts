// The sockets below a channel, held so that a closed channel really leaves none. The library ends its HTTP/2 session
// politely and forgets it; Node then waits until nothing is left to send, and under load sometimes waits for ever: such
// a connection would stay open until the plugin ends it (test/integration/border/closed-channels.test.ts).
import type { Socket } from 'node:net';
import { credentials, type ChannelCredentials } from '@grpc/grpc-js';
import type { Clock } from '../../kernel/clock.js';

/** What a polite end may take. Between processes of one machine it takes microseconds. */
const POLITE_MS = 200;

/** Credentials for one channel that know each socket the library opens with them. */
export class OwnedSockets {
  /** Plain text, as plugins speak it. */
  readonly credentials: ChannelCredentials = credentials.createInsecure();
  readonly #sockets = new Set<Socket>();
  readonly #clock: Clock;
  #isClosed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
    const create = this.credentials._createSecureConnector.bind(this.credentials);
    this.credentials._createSecureConnector = (target, options, callCredentials) => {
      const connector = create(target, options, callCredentials);
      const connect = connector.connect.bind(connector);
      connector.connect = (socket) => {
        this.#own(socket);
        return connect(socket);
      };
      return connector;
    };
  }

  /** After the channel was closed: cuts what has not ended by itself a moment later. Idempotent. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const socket of this.#sockets) this.#endSoon(socket);
  }

  #own(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    if (this.#isClosed) this.#endSoon(socket);
  }

  #endSoon(socket: Socket): void {
    const alarm = this.#clock.alarm(POLITE_MS, () => socket.destroy());
    socket.once('close', () => alarm.cancel());
  }
}
