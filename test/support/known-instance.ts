// An instance in any state, for functions that know no roster.
import { DEVICE_PLUGIN } from '../../src/model/ids.js';
import type { Instance } from '../../src/model/instance.js';

/** A connected device plugin of the Register door, but for what a test says. */
export function knownInstance(over: Partial<Instance> = {}): Instance {
  return {
    id: `${DEVICE_PLUGIN}/example.com/x@1`,
    type: DEVICE_PLUGIN,
    name: 'example.com/x',
    door: 'register',
    socketPath: '/d/a.sock',
    endpointPath: '/d/a.sock',
    endpointAsSent: 'a.sock',
    socketKey: '1',
    endpointKey: '1',
    versions: ['v1beta1'],
    seq: 1,
    state: 'ready',
    reason: 'registered',
    message: 'registered',
    stateSince: 0,
    registeredAt: 0,
    firstRegisteredAt: 0,
    version: 'v1beta1',
    caller: undefined,
    listener: undefined,
    facts: {},
    isServing: false,
    wasWatched: false,
    isHint: false,
    isConfirmed: true,
    isPresumed: false,
    isAway: false,
    isDurable: false,
    enrolment: undefined,
    counters: { registrations: 0, rejected: 0, updates: 0, coalesced: 0, disconnects: 0 },
    ...over,
  };
}
