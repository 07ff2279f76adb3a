// The kubelet's checkpoint of devices (kubernetes: pkg/kubelet/cm/devicemanager/checkpoint/checkpoint.go): the same members, so
// that tools which read the file work with it. Its checksum is one of our own, of the text: a real kubelet would not take it.
import { createHash } from 'node:crypto';
import type { DeviceManager, PodDevices } from './device-manager.js';
import { textOf, writeAnew } from './wary-files.js';

interface Data {
  readonly PodDeviceEntries: readonly {
    readonly PodUID: string;
    readonly ContainerName: string;
    readonly ResourceName: string;
    /** By NUMA node; -1 where none is known. */
    readonly DeviceIDs: Readonly<Record<string, readonly string[]>>;
    readonly AllocResp: string;
  }[];
  readonly RegisteredDevices: Readonly<Record<string, readonly string[]>>;
}

/**
 * Writes the devices and pods, durably, as the kubelet does after each list and each allocation.
 *
 * @throws NodeJS.ErrnoException when it cannot be written, also where another user has put something in its way
 */
export function writeCheckpoint(file: string, devices: DeviceManager): void {
  const { given, registered } = devices.snapshot();
  const data: Data = {
    PodDeviceEntries: given.map(({ podUid, container, resource, ids, answer }) => ({
      PodUID: podUid,
      ContainerName: container,
      ResourceName: resource,
      DeviceIDs: { '-1': ids },
      AllocResp: Buffer.from(JSON.stringify(answer)).toString('base64'),
    })),
    RegisteredDevices: Object.fromEntries(registered),
  };
  writeAnew(file, JSON.stringify({ Data: data, Checksum: checksum(data) }), true);
}

/** Reads it back; a file that is missing or damaged, and anything else than a file, counts as none, as in the kubelet. */
export function readCheckpoint(file: string): { given: PodDevices[]; resources: string[] } {
  try {
    const { Data: data, Checksum } = JSON.parse(textOf(file)) as { Data: Data; Checksum: number };
    if (Checksum !== checksum(data)) return { given: [], resources: [] };
    const given = data.PodDeviceEntries.map((entry) => ({
      podUid: entry.PodUID,
      container: entry.ContainerName,
      resource: entry.ResourceName,
      ids: Object.values(entry.DeviceIDs).flat(),
      answer: JSON.parse(Buffer.from(entry.AllocResp, 'base64').toString()) as object,
    }));
    return { given, resources: Object.keys(data.RegisteredDevices) };
  } catch {
    return { given: [], resources: [] };
  }
}

function checksum(data: Data): number {
  return createHash('sha256').update(JSON.stringify(data)).digest().readUInt32LE();
}
