// Lists and requests between the kubelet and a plugin, as far as the front looks into them.
import type { FrontWire } from '../../front/ports.js';
import { HEALTHY, type Device } from '../../model/device.js';
import type { DeviceMethod } from '../../model/device-use.js';
import { readDevices } from './device-list-reader.js';
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

/** Reads and composes. */
export const frontWire: FrontWire = {
  idsOf: (method: DeviceMethod, request: Buffer): readonly string[] => {
    if (method === 'PreStartContainer') return PreStartContainerRequest.decode(request).devicesIds;
    return AllocateRequest.decode(request).containerRequests.flatMap((container) => container.devicesIds);
  },
  healthOf: (list, ids) => {
    const found = new Map<string, boolean>();
    const wanted = new Set(ids);
    const lengths = new Set(ids.map((id) => Buffer.byteLength(id)));
    // A kubelet waits for this, and a list may have 200,000 devices: nothing is made of those that nobody asks about.
    const walk = new DeviceWalk(list, Infinity, ({ idStart, idEnd, isHealthy }) => {
      if (!lengths.has(idEnd - idStart)) return;
      const id = list.toString('utf8', idStart, idEnd);
      if (wanted.has(id)) found.set(id, isHealthy);
    });
    while (!walk.readSlice());
    return found;
  },
  isWorse: (before, next) => {
    const now = healthy(next);
    return [...healthy(before)].some((id) => !now.has(id));
  },
  compose: (list, isAllUnhealthy, vanished) => {
    const gone: readonly Device[] = vanished.map((id) => ({ id, health: UNHEALTHY, numaNodes: [] }));
    // Messages of one type put one after the other are one message: the plugin's own bytes stay as they are.
    if (!isAllUnhealthy) return Buffer.concat([list, encoded(gone)]);
    return encoded([...readDevices(list).map((device) => ({ ...device, health: UNHEALTHY })), ...gone]);
  },
  // One entry for the one container that a kubelet asks about.
  noPreference: PreferredAllocationResponse.encode({ containerResponses: [{ deviceIds: [] }] }),
  started: PreStartContainerResponse.encode({}),
};

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
