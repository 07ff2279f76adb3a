// Lists and requests between the kubelet and a plugin, as far as the front looks into them.
import type { FrontWire } from '../../front/ports.js';
import { HEALTHY, type Device } from '../../model/device.js';
import type { DeviceMethod } from '../../model/device-use.js';
import { ENTRY_OCTETS, MOST_NODES } from '../../model/front.js';
import { nextTurn } from '../time/next-turn.js';
import { MAX_NODES, readDevices } from './device-list-reader.js';
import { DeviceWalk } from './device-walk.js';
import {
  AllocateRequest,
  ListAndWatchResponse,
  PreferredAllocationResponse,
  PreStartContainerRequest,
  PreStartContainerResponse,
} from '../../generated/proto/deviceplugin/v1beta1/deviceplugin.js';

/** The other health. */
const UNHEALTHY = 'Unhealthy';
/**
 * In a list of more bytes it is left out, which a kubelet reads the same: two bytes more of each device would bring it over what a
 * kubelet takes, and then it would go on with the healthy devices of the list before.
 */
const ROOM_FOR_HEALTH = 3 * 1024 * 1024;
/** Ids that are handled in one slice. */
const SLICE_IDS = 1000;

/** Reads and composes. */
export const frontWire: FrontWire = {
  idsOf: (method: DeviceMethod, request: Buffer): readonly string[] => {
    if (method === 'PreStartContainer') return PreStartContainerRequest.decode(request).devicesIds;
    return AllocateRequest.decode(request).containerRequests.flatMap((container) => container.devicesIds);
  },
  healthInTurns: (list, ids) => inTurns(looking(list, ids)),
  unlisted: (list, ids) => atOnce(missing(list, ids)),
  unlistedInTurns: (list, ids) => inTurns(missing(list, ids)),
  octetsOf: (list, resource) => atOnce(weighing(list, resource)),
  octetsInTurns: (list, resource) => inTurns(weighing(list, resource)),
  isWorse: (before, next) => {
    const now = healthy(next);
    return [...healthy(before)].some((id) => !now.has(id));
  },
  compose: (list, isAllUnhealthy, vanished) => atOnce(composing(list, isAllUnhealthy, vanished)),
  composeInTurns: (list, isAllUnhealthy, vanished) => inTurns(composing(list, isAllUnhealthy, vanished)),
  // One entry for the one container that a kubelet asks about.
  noPreference: PreferredAllocationResponse.encode({ containerResponses: [{ deviceIds: [] }] }),
  started: PreStartContainerResponse.encode({}),
};

/** Work on a list, which may have 200,000 devices, in slices of about a millisecond. */
type Slices<T> = Generator<undefined, T, undefined>;

function atOnce<T>(work: Slices<T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}

async function inTurns<T>(work: Slices<T>): Promise<T> {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
    await nextTurn();
  }
}

/** The health of these devices. Nothing is made of those that nobody asks about. */
function* looking(list: Buffer, ids: readonly string[]): Slices<ReadonlyMap<string, boolean>> {
  const found = new Map<string, boolean>();
  const wanted = new Set(ids);
  const lengths = new Set(ids.map((id) => Buffer.byteLength(id)));
  const walk = new DeviceWalk(list, Infinity, ({ idStart, idEnd, isHealthy }) => {
    if (!lengths.has(idEnd - idStart)) return;
    const id = list.toString('utf8', idStart, idEnd);
    if (wanted.has(id)) found.set(id, isHealthy);
  });
  while (!walk.readSlice()) yield;
  return found;
}

/** The ids that the list has not. */
function* missing(list: Buffer, ids: readonly string[]): Slices<readonly string[]> {
  const left = new Set<string>();
  const lengths = new Set<number>();
  for (const slice of slicesOf(ids)) {
    for (const id of slice) {
      left.add(id);
      lengths.add(Buffer.byteLength(id));
    }
    yield;
  }
  const walk = new DeviceWalk(list, Infinity, ({ idStart, idEnd }) => {
    if (lengths.has(idEnd - idStart)) left.delete(list.toString('utf8', idStart, idEnd));
  });
  while (!walk.readSlice()) yield;
  return [...left];
}

function* weighing(list: Buffer, resource: string): Slices<number> {
  const around = Buffer.byteLength(resource) + ENTRY_OCTETS;
  let octets = 0;
  const walk = new DeviceWalk(list, Infinity, ({ idStart, idEnd, nodeCount }) => {
    octets += nodeCount > MOST_NODES ? Infinity : MOST_NODES * (around + idEnd - idStart);
  });
  while (!walk.readSlice()) yield;
  return octets;
}

/** Parts of a long row, each of which is soon done with. */
function* slicesOf(ids: readonly string[]): Generator<readonly string[], void, undefined> {
  for (let nth = 0; nth < ids.length; nth += SLICE_IDS) yield ids.slice(nth, nth + SLICE_IDS);
}

function* composing(list: Buffer, isAllUnhealthy: boolean, vanished: readonly string[]): Slices<Buffer> {
  const gone: Buffer[] = [];
  for (const ids of slicesOf(vanished)) {
    gone.push(encoded(ids.map((id) => ({ id, health: UNHEALTHY, numaNodes: [] }))));
    yield;
  }
  // Messages of one type put one after the other are one message: the plugin's own bytes stay as they are.
  if (!isAllUnhealthy) return Buffer.concat([list, ...gone]);
  const parts: Buffer[] = [];
  const slice: Device[] = [];
  const health = list.length > ROOM_FOR_HEALTH ? '' : UNHEALTHY;
  const walk = new DeviceWalk(list, Infinity, ({ idStart, idEnd, nodes, nodeCount }) => {
    const numaNodes = nodes.slice(0, Math.min(nodeCount, MAX_NODES));
    slice.push({ id: list.toString('utf8', idStart, idEnd), health, numaNodes });
  });
  for (let isRead = false; !isRead;) {
    isRead = walk.readSlice();
    parts.push(encoded(slice.splice(0)));
    if (!isRead) yield;
  }
  return Buffer.concat([...parts, ...gone]);
}

/** Ids of the healthy devices of a list. */
function healthy(list: Buffer): ReadonlySet<string> {
  return new Set(readDevices(list).flatMap(({ id, health }) => (health === HEALTHY ? [id] : [])));
}

function encoded(devices: readonly Device[]): Buffer {
  return ListAndWatchResponse.encode({
    devices: devices.map(({ id, health, numaNodes }) => ({
      id,
      health,
      ...(numaNodes.length === 0 ? {} : { topology: { nodes: numaNodes.map((node) => ({ id: node })) } }),
    })),
  });
}
