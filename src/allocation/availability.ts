// Whether a request can be served now, and with which devices: all that it wants or nothing, decided in one step.
import { HEALTHY, type Device } from '../model/device.js';
import type { AllocationCode } from '../model/allocation-reasons.js';
import { ownerText, type Granted, type Lease, type Want } from '../model/lease.js';
import { choose } from './choose.js';
import type { Entry, Ledger } from './ledger.js';
import type { AllocationCaller, AllocationPorts, Offer } from './ports.js';
import type { Decision } from './waiting.js';

/** The facts that the decision about a request rests on. */
export interface Situation {
  readonly caller: AllocationCaller;
  readonly ledger: Ledger;
  readonly ports: Pick<AllocationPorts, 'offers' | 'consumers' | 'rules' | 'userOf'>;
  /** Whether a device of a resource is better not given now. */
  readonly isAvoided: (resource: string, id: string) => boolean;
}

type Chosen = Decision<Granted>;
type NotNow = Extract<Decision<never>, { ok: false }>;

/** The codes of refusals that are given only for a resource that a plugin offers. */
const OF_OFFERED: ReadonlySet<AllocationCode> = new Set([
  'PLUGIN_NOT_READY',
  'DEVICE_UNKNOWN',
  'DEVICE_TAKEN',
  'NO_DEVICES',
]);

/** Chooses devices for every want of a request, or says why not. */
export function available(wants: readonly Want[], situation: Situation): Decision<readonly Granted[]> {
  const granted: Granted[] = [];
  for (const want of wants) {
    const chosen = chooseFor(want, situation);
    if (!chosen.ok) {
      const { refusal } = chosen;
      return OF_OFFERED.has(refusal.code) ? { ...chosen, refusal: { ...refusal, resource: want.resource } } : chosen;
    }
    granted.push(chosen.value);
  }
  return { ok: true, value: granted };
}

/** Whether a device is healthy and in no lease. */
export function mayBeGiven({ id, health }: Device, taken: Taken): boolean {
  return health === HEALTHY && !taken.has(id);
}

function chooseFor(want: Want, situation: Situation): Chosen {
  const { resource } = want;
  const denied = deniedBy(want, situation);
  if (denied !== undefined) return denied;
  const offer = situation.ports.offers.of(resource);
  if (offer === undefined) return later('RESOURCE_UNKNOWN', `no plugin offers ${resource}`);
  const { devices } = offer;
  if (devices === undefined)
    return later('PLUGIN_NOT_READY', `${away(offer, want)} and has not said which devices it has`);
  const listed = { ...offer, devices };
  const taken = situation.ledger.takenOf(resource);
  return ofNamed(want, listed, taken, situation) ?? ofFree(want, listed, taken, situation);
}

type Listed = Offer & { readonly devices: readonly Device[] };
type Taken = ReadonlyMap<string, Entry>;

/** Why a device that is wanted by name cannot be had. */
function ofNamed({ resource, ids }: Want, offer: Listed, taken: Taken, { caller }: Situation): Chosen | undefined {
  if (ids.length === 0) return undefined;
  const wanted = new Set(ids);
  const named = new Map(offer.devices.flatMap((one) => (wanted.has(one.id) ? [[one.id, one] as const] : [])));
  for (const id of ids) {
    const device = named.get(id);
    const holder = taken.get(id);
    if (device === undefined && offer.isReady) return never('DEVICE_UNKNOWN', `${resource} has no device ${id}`);
    if (holder !== undefined) return later('DEVICE_TAKEN', `${id} of ${resource} is ${heldBy(holder.lease, caller)}`);
    if (device !== undefined && offer.isReady && device.health !== HEALTHY) {
      return later('NO_DEVICES', `${id} of ${resource} is ${device.health}`);
    }
  }
  return undefined;
}

/** Devices of those that are free, or why there are too few. */
function ofFree(want: Want, offer: Listed, taken: Taken, { isAvoided, caller, ports }: Situation): Chosen {
  const { resource, count, ids } = want;
  const free = offer.devices.filter((device) => mayBeGiven(device, taken));
  const listed = offer.devices.length;
  const figures = `${String(count)} of ${resource} are wanted, and ${String(free.length)} of ${String(listed)} are free`;
  if (!offer.isReady) {
    return free.length < count
      ? later('NO_DEVICES', `${figures}; ${away(offer, want)}`)
      : later('PLUGIN_NOT_READY', away(offer, want));
  }
  if (offer.plugin === undefined) return later('PLUGIN_NOT_READY', `${away(offer, want)}, and cannot be called now`);
  const wanted = new Set(ids);
  const usable = free.filter(({ id }) => !isAvoided(resource, id) || wanted.has(id));
  const devices = choose(want, usable);
  if (devices !== undefined) {
    return { ok: true, value: { resource, devices: devices.map(({ id, numaNodes }) => ({ id, numaNodes })) } };
  }
  if (free.length >= count && usable.length < count) {
    return later('NO_DEVICES', `${figures}, but its plugin has just not answered for some of them`);
  }
  if (free.length >= count) return later('NO_DEVICES', `${figures}, but not on one NUMA node`);
  // Devices that its own user has, or that are broken, are nobody else's to give back.
  const isOthers = ({ id, health }: Device): boolean => {
    const holder = taken.get(id);
    return holder !== undefined && health === HEALTHY && ports.userOf(holder.lease.uid) !== ports.userOf(caller.uid);
  };
  const others = offer.devices.filter(isOthers).length;
  return { ...later('NO_DEVICES', figures), ...(count <= free.length + others ? { lacks: resource } : {}) };
}

function away({ state }: Offer, { resource }: Want): string {
  return `the plugin of ${resource} is ${state}`;
}

/** The refusal by a rule or by the consumer; undefined: none. */
function deniedBy({ resource, count }: Want, { caller, ledger, ports }: Situation): Chosen | undefined {
  const { uid } = caller;
  if (ports.consumers.of(resource) === 'kubelet') {
    const unsure = ports.consumers.unsure(resource);
    if (unsure !== undefined) return later('CONSUMER_IS_KUBELET', `${resource} is for no lease until ${unsure}`);
    return never('CONSUMER_IS_KUBELET', `the devices of ${resource} are for the pods of the kubelet`);
  }
  const { uids, max } = ports.rules.allocateOf(resource);
  if (uids !== undefined && uid !== 0 && !uids.includes(uid)) {
    return never('UID_NOT_ALLOWED', `uid ${String(uid)} may not have devices of ${resource}`);
  }
  const held = max === undefined ? 0 : ledger.countOf(resource, (one) => ports.userOf(one) === ports.userOf(uid));
  if (max === undefined || held + count <= max) return undefined;
  const message = `uid ${String(uid)} has ${String(held)} devices of ${resource} and wants ${String(count)} more; a rule allows ${String(max)}`;
  return count > max ? never('UID_LIMIT', message) : later('UID_LIMIT', message);
}

/** Tells the holder of a device only to callers that may know it: its own user. */
function heldBy(holder: Lease, { uid }: AllocationCaller): string {
  if (uid !== 0 && uid !== holder.uid) return 'in another lease';
  return `in lease ${holder.id} of ${ownerText(holder.owner)} (uid ${String(holder.uid)})`;
}

function later(code: AllocationCode, message: string): NotNow {
  return { ok: false, refusal: { code, message }, isFinal: false };
}

function never(code: AllocationCode, message: string): NotNow {
  return { ok: false, refusal: { code, message }, isFinal: true };
}
