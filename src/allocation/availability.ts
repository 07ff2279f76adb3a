// Whether a request can be served now, and with which devices: all that it wants or nothing, decided in one step.
import { HEALTHY, type Device } from '../model/device.js';
import type { AllocationCode } from '../model/allocation-reasons.js';
import { ownerText, type Granted, type GrantedDevice, type Lease, type Want } from '../model/lease.js';
import { choose } from './choose.js';
import type { Ledger } from './ledger.js';
import type { AllocationCaller, AllocationPorts, Offer } from './ports.js';
import type { Attempt } from './waiting.js';

/** Devices that are better not given now, by resource. */
export type Avoided = (resource: string, id: string) => boolean;

type Chosen = Attempt<Granted>;

/** Chooses devices for every want of a request, or says why not. */
export function available(
  wants: readonly Want[],
  caller: AllocationCaller,
  ledger: Ledger,
  ports: AllocationPorts,
  isAvoided: Avoided,
): Attempt<readonly Granted[]> {
  const granted: Granted[] = [];
  for (const want of wants) {
    const chosen = chooseFor(want, caller, ledger, ports, isAvoided);
    if (!chosen.ok) return chosen;
    granted.push(chosen.value);
  }
  return { ok: true, value: granted };
}

/** The devices of a resource that may be given out now, in the order of its list. `taken`: those in leases, from the ledger. */
function freeOf(offer: Offer, taken: ReadonlyMap<string, Lease>): readonly GrantedDevice[] {
  return (offer.devices ?? []).filter((device) => mayBeGiven(device, taken));
}

/** Whether a device is healthy and in no lease. */
export function mayBeGiven({ id, health }: Device, taken: ReadonlyMap<string, Lease>): boolean {
  return health === HEALTHY && !taken.has(id);
}

function chooseFor(
  want: Want,
  caller: AllocationCaller,
  ledger: Ledger,
  ports: AllocationPorts,
  isAvoided: Avoided,
): Chosen {
  const { resource, count, ids } = want;
  const denied = deniedBy(want, caller, ledger, ports);
  if (denied !== undefined) return denied;
  const offer = ports.offer(resource);
  if (offer === undefined) return later('RESOURCE_UNKNOWN', `no plugin offers ${resource}`);
  const away = `the plugin of ${resource} is ${offer.state}`;
  if (offer.devices === undefined) return later('PLUGIN_NOT_READY', `${away} and has not said which devices it has`);
  const taken = ledger.takenOf(resource);
  const wanted = new Set(ids);
  const named = new Map(
    ids.length === 0 ? [] : offer.devices.flatMap((one) => (wanted.has(one.id) ? [[one.id, one] as const] : [])),
  );
  for (const id of ids) {
    const device = named.get(id);
    const holder = taken.get(id);
    if (device === undefined && offer.isReady) return never('DEVICE_UNKNOWN', `${resource} has no device ${id}`);
    if (holder !== undefined) return later('DEVICE_TAKEN', `${id} of ${resource} is ${heldBy(holder, caller)}`);
    if (device !== undefined && offer.isReady && device.health !== HEALTHY) {
      return later('NO_DEVICES', `${id} of ${resource} is ${device.health}`);
    }
  }
  const free = freeOf(offer, taken);
  const listed = offer.devices.length;
  const figures = `${String(count)} of ${resource} are wanted, and ${String(free.length)} of ${String(listed)} are free`;
  if (!offer.isReady) {
    return free.length < count ? later('NO_DEVICES', `${figures}; ${away}`) : later('PLUGIN_NOT_READY', away);
  }
  const usable = free.filter(({ id }) => !isAvoided(resource, id) || wanted.has(id));
  const devices = offer.plugin === undefined ? undefined : choose(want, usable);
  if (devices !== undefined) {
    const plain = devices.map(({ id, numaNodes }) => ({ id, numaNodes }));
    return { ok: true, value: { resource, devices: plain } };
  }
  if (offer.plugin === undefined) return later('PLUGIN_NOT_READY', `${away}, and cannot be called now`);
  if (free.length >= count && usable.length < count) {
    return later('NO_DEVICES', `${figures}, but its plugin has just not answered for some of them`);
  }
  if (free.length >= count) return later('NO_DEVICES', `${figures}, but not on one NUMA node`);
  return { ...later('NO_DEVICES', figures), ...(count <= listed ? { lacks: resource } : {}) };
}

/** The refusal by the rules. */
function deniedBy(
  { resource, count }: Want,
  { uid }: AllocationCaller,
  ledger: Ledger,
  ports: AllocationPorts,
): Chosen | undefined {
  if (ports.consumer(resource) === 'kubelet') {
    return never('CONSUMER_IS_KUBELET', `the devices of ${resource} are for the pods of the kubelet`);
  }
  const { uids, max } = ports.policy(resource);
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

function later(
  code: AllocationCode,
  message: string,
): { ok: false; refusal: { code: AllocationCode; message: string }; isFinal: boolean } {
  return { ok: false, refusal: { code, message }, isFinal: false };
}

function never(
  code: AllocationCode,
  message: string,
): { ok: false; refusal: { code: AllocationCode; message: string }; isFinal: boolean } {
  return { ok: false, refusal: { code, message }, isFinal: true };
}
