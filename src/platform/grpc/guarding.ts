// The guard before plugins that we call: the same budgets as before those that call us, and an exceeding is reported.
import { Paces } from '../../kernel/paces.js';
import type { Surroundings } from '../../kernel/surroundings.js';
import type { ReadPace } from '../../model/call-turns.js';
import type { EventSink } from '../../model/event.js';
import { strangerUser, type UserFacts } from '../../model/ids.js';
import type { GuardSettings } from '../../model/settings.js';
import { MessageRoom } from './message-room.js';
import type { Guarding } from './owned-sockets.js';
import { UnsentRequests } from './unsent-requests.js';

/**
 * How fast kept connections to drivers of one ordinary user are dialled again, all of them together: some of them restart at once, and
 * any number that end each connection cost no more than twenty dials a second. The last of the most that wait waits for 50 s.
 */
const COMEBACKS = { burst: 64, intervalMs: 50, ahead: 1024 } as const;

/** The ports of guarding. */
export interface GuardingPorts extends Pick<Surroundings, 'clock' | 'log'>, UserFacts {
  readonly events: EventSink;
  /** `guard` of the configuration: `assemble` (daemon/assemble) reads it. */
  readonly guard: () => GuardSettings;
  /** How a user is read: `ReadPaces.of` (flood/read-paces). */
  readonly reads: (uid: number | undefined) => ReadPace | undefined;
  /** Counted for metrics: BrokerMetrics.connection (platform/metrics/broker-metrics). */
  readonly count: (what: 'ended') => void;
}

/** Guards connections that the broker opens. */
export function guardPlugins({ clock, log, events, guard, ownUid, userOf, reads, count }: GuardingPorts): Guarding {
  const comebacks = new Paces<number>(COMEBACKS);
  return {
    clock,
    guard,
    reads,
    comebackMs: (uid) => {
      const user = strangerUser(uid, { ownUid, userOf });
      return user === undefined ? 0 : comebacks.book(user, clock.mono()).waitMs;
    },
    room: new MessageRoom({ ownUid, userOf }),
    unsent: new UnsentRequests({ ownUid, userOf }),
    onEnd: ({ code, message }, socket, uid) => {
      count('ended');
      const sentence = `our connection to ${socket} was ended: ${message}`;
      const by = uid === undefined ? {} : { uid };
      events.record({ type: 'connection', reason: code, socket, ...by, message: sentence });
      log.warn('connection.ended', sentence, { code, socket, ...by });
    },
  };
}
