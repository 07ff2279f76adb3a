// The sockets below a channel, held so that a closed channel really leaves none, and guarded like those of our callers. The
// library ends its HTTP/2 session politely and forgets it; Node then waits until nothing is left to send, and under load
// sometimes waits for ever: such a connection would stay open until the plugin ends it
// (test/integration/border/closed-channels.test.ts).
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { credentials, type ChannelCredentials } from '@grpc/grpc-js';
import type { Clock } from '../../kernel/clock.js';
import type { ReadPace } from '../../model/call-turns.js';
import type { GuardSettings } from '../../model/settings.js';
import type { ConnectionEnd } from '../../model/connection-ends.js';
import { ClientBorder } from '../http2/client-border.js';
import type { MessageRoom } from './message-room.js';
import type { UnsentRequests } from './unsent-requests.js';

/**
 * The time that a polite end of a connection may take, in milliseconds. Between processes of one machine it takes microseconds.
 */
export const POLITE_MS = 200;

/** The guards of connections that we open: `guardPlugins` (platform/grpc/guarding) makes them. */
export interface Guarding {
  readonly clock: Clock;
  /** The budgets, read for each connection. */
  readonly guard: () => GuardSettings;
  /** The peer exceeded one of them; its connection has ended. `uid`: of the owner of its socket, where that is known. */
  readonly onEnd?: (end: ConnectionEnd, target: string, uid?: number) => void;
  /** How a peer is read, by the uid of its socket; absent, or undefined: as it comes. */
  readonly reads?: (uid: number | undefined) => ReadPace | undefined;
  /**
   * Takes the turn of dialling a driver of this uid again after its connection ended. Returns in how many milliseconds it is; absent: at once.
   */
  readonly comebackMs?: (uid: number) => number;
  /** Room for messages that are not whole; absent: they need none. */
  readonly room?: MessageRoom;
  /** Counts requests that have not left; absent: any number may wait. */
  readonly unsent?: UnsentRequests;
}

/** Credentials for one channel that know each socket the library opens with them, and put a border before it. */
export class OwnedSockets {
  /** Plain text, as plugins speak it. */
  readonly credentials: ChannelCredentials = credentials.createInsecure();
  readonly #sockets = new Set<Socket>();
  readonly #guarding: Guarding;
  #isClosed = false;

  /** @param target the dialled server, for messages */
  constructor(guarding: Guarding, target: string) {
    this.#guarding = guarding;
    const create = this.credentials._createSecureConnector.bind(this.credentials);
    this.credentials._createSecureConnector = (channelTarget, options, callCredentials) => {
      const connector = create(channelTarget, options, callCredentials);
      const connect = connector.connect.bind(connector);
      connector.connect = (socket) => connect(this.#guarded(socket, target));
      return connector;
    };
  }

  /** After the channel was closed: cuts connections that have not ended by themselves a moment later. Idempotent. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const socket of this.#sockets) this.#endSoon(socket);
  }

  #guarded(socket: Socket, target: string): Socket {
    const { clock, guard, onEnd } = this.#guarding;
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    if (this.#isClosed) this.#endSoon(socket);
    const border: Duplex = new ClientBorder(socket, { guard: guard(), clock, onEnd: (end) => onEnd?.(end, target) });
    // eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment -- the library uses of a socket what every stream has
    return border as Socket;
  }

  #endSoon(socket: Socket): void {
    const alarm = this.#guarding.clock.alarm(POLITE_MS, () => socket.destroy());
    socket.once('close', () => alarm.cancel());
  }
}
