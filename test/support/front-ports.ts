import type { FrontOwners, FrontWire, ResourceNow } from '../../src/front/ports.js';

/** Every list and answer of these tests. */
const LIST = Buffer.from('list');

/** A resource whose plugin is ready with one healthy device. */
export const READY: ResourceNow = {
  instanceId: 'first',
  state: 'ready',
  reason: 'registered',
  isHint: false,
  isConfirmed: true,
  list: LIST,
  devices: 1,
  healthy: 1,
  options: { preStartRequired: false, preferredAllocationAvailable: false },
};

/** Nobody has devices. */
export const NO_OWNERS: FrontOwners = {
  idsOf: () => [],
  isFree: () => true,
  takenBy: () => Promise.resolve(undefined),
  allocating: () => undefined,
  needsQuiet: () => false,
  giving: () => undefined,
};

/** Each list has one healthy device, and requests name none. */
export const WIRE: FrontWire = {
  idsOf: () => [],
  healthInTurns: () => Promise.resolve(new Map([['d', true]])),
  unlisted: () => [],
  unlistedInTurns: () => Promise.resolve([]),
  octetsOf: () => 0,
  octetsInTurns: () => Promise.resolve(0),
  isWorse: () => false,
  compose: () => LIST,
  composeInTurns: () => Promise.resolve(LIST),
  noPreference: LIST,
  started: LIST,
};
