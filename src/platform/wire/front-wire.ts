// Lists and requests between the kubelet and a plugin, as far as the front looks into them.
import type { FrontWire } from '../../front/ports.js';
import { HEALTHY, type Device } from '../../model/device.js';
import type { DeviceMethod } from '../../model/device-use.js';
import { readDevices } from './device-list-reader.js';
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
  healthOf: (list) => new Map(readDevices(list).map(({ id, health }) => [id, health === HEALTHY])),
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

function encoded(devices: readonly Device[]): Buffer {
  return ListAndWatchResponse.encode({
    devices: devices.map(({ id, health, numaNodes }) => ({
      id,
      health,
      ...(numaNodes.length === 0 ? {} : { topology: { nodes: numaNodes.map((node) => ({ id: node })) } }),
    })),
  });
}
