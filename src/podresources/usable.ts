// Which resources PodResources tells of: those of which something can be used, and that no kubelet tells of itself.
import type { Device } from '../model/device.js';
import type { Resource } from '../model/device-list.js';
import type { UsableList } from './ports.js';

/** @param isTheirs whether a resource was given to the kubelet whose answer ours is joined to */
export function usableLists(
  resources: Iterable<Resource>,
  isTheirs: (resource: string) => boolean,
  devicesOf: (list: Buffer) => readonly Device[],
): UsableList[] {
  return [...resources]
    .filter(({ name, allocatable }) => allocatable > 0 && !isTheirs(name))
    .map(({ name, holding }) => ({ resource: name, list: holding, devices: () => devicesOf(holding.raw) }));
}
