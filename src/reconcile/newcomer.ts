// The record of an incarnation that was not known before.
import { incarnationKey } from '../model/ids.js';
import { instanceId, type Instance } from '../model/instance.js';
import type { Enrolment } from '../model/plugin.js';

/**
 * The record of a registration that admission let in; it holds no sockets yet.
 *
 * @param seq the place of the registration in time
 * @param now epoch milliseconds
 */
export function newcomer(enrolment: Enrolment, seq: number, now: number): Instance {
  return {
    id: instanceId(enrolment.type, enrolment.name, incarnationKey(enrolment.socket.incarnation)),
    type: enrolment.type,
    name: enrolment.name,
    door: enrolment.door,
    socketPath: enrolment.socket.path,
    endpointPath: enrolment.endpoint.path,
    endpointAsSent: enrolment.endpointAsSent,
    socketKey: incarnationKey(enrolment.socket.incarnation),
    endpointKey: incarnationKey(enrolment.endpoint.incarnation),
    versions: enrolment.versions,
    seq,
    state: 'connecting',
    reason: 'registering',
    message: 'is being dialled',
    stateSince: now,
    registeredAt: 0,
    firstRegisteredAt: 0,
    version: '',
    caller: enrolment.caller,
    listener: enrolment.listener,
    facts: {},
    isServing: false,
    wasWatched: enrolment.resumed,
    isHint: false,
    isConfirmed: false,
    isPresumed: enrolment.pulled && enrolment.door === 'register',
    isAway: false,
    isDurable: false,
    enrolment: undefined,
    counters: { registrations: 0, rejected: 0, updates: 0, coalesced: 0, disconnects: 0 },
  };
}
