// The kubelet's checkpoint of devices (kubernetes: pkg/kubelet/cm/devicemanager/checkpoint/checkpoint.go): the same members, so
// that tools which read the file work with it. Its checksum is one of our own, of the text: a real kubelet would not take it.
import { createHash } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  openSync,
  readFileSync,
  realpathSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { inDirectory } from '../../platform/fs/pinned-directory.js';
import type { DeviceManager, PodDevices } from './device-manager.js';

/** Users that may put sockets into the directory may put links and FIFOs there, too, under the names of the checkpoint. */
const FRESH = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const WARY = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

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
  const name = path.basename(file);
  const fresh = `${name}.new`;
  inDirectory(realpathSync(path.dirname(file)), (directory) => {
    directory.unlink(fresh);
    const descriptor = openSync(directory.at(fresh), FRESH, 0o600);
    try {
      writeFileSync(descriptor, JSON.stringify({ Data: data, Checksum: checksum(data) }));
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    directory.rename(fresh, directory, name);
  });
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

/** The text of a regular file. @throws NodeJS.ErrnoException; Error for anything else of that name */
function textOf(file: string): string {
  return inDirectory(realpathSync(path.dirname(file)), (directory) => {
    const descriptor = openSync(directory.at(path.basename(file)), WARY);
    try {
      if (!fstatSync(descriptor).isFile()) throw new Error(`${file} is no file`);
      return readFileSync(descriptor, 'utf8');
    } finally {
      closeSync(descriptor);
    }
  });
}

function checksum(data: Data): number {
  return createHash('sha256').update(JSON.stringify(data)).digest().readUInt32LE();
}
