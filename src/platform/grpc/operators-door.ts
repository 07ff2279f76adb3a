// How operators come in at broker.sock.
import { LONGEST_ALARM_MS, type Clock } from '../../kernel/clock.js';
import type { Log } from '../../kernel/log.js';
import type { ConnectionEnd } from '../../model/connection-ends.js';
import type { GuardSettings } from '../../model/settings.js';
import { Border } from '../http2/border.js';
import { GrpcDoor, type Accept } from './grpc-door.js';

/** Concurrent calls of one connection. */
const STREAMS = 64;
const MAX_REQUEST_BYTES = 64 * 1024;
/** Bytes that an operator may leave unread: of large answers one page is out at a time. */
const MOST_UNREAD_BYTES = 64 * 1024 * 1024;

/**
 * The door at broker.sock: the server of the services, and the connections. File permissions are its guard. The border stands there
 * for the requests of old clients (a bare path as `:authority`) and against broken peers; a client that follows events for a week,
 * or reads a long list slowly, is neither.
 */
export function operatorsDoor(settings: GuardSettings, clock: Clock, log: Log): GrpcDoor {
  const patient = { ageMs: LONGEST_ALARM_MS, halfOpenMs: LONGEST_ALARM_MS, unreadMs: LONGEST_ALARM_MS };
  const guard = { ...settings, ...patient, unreadBytes: Math.max(settings.unreadBytes, MOST_UNREAD_BYTES) };
  const onEnd = ({ code, message }: ConnectionEnd): void =>
    log.info('admin.connection-ended', `a connection to broker.sock was ended: ${message}`, { code });
  const accept: Accept = (socket) => ({
    caller: undefined,
    stream: new Border(socket, { guard, clock, onEnd }),
    slowDown: () => undefined,
    answered: () => undefined,
  });
  return new GrpcDoor({ clock, accept, streams: STREAMS, maxRequestBytes: MAX_REQUEST_BYTES });
}
