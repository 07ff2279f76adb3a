// The lists whose devices GetAllocatableResources names.
import type { Device } from '../model/device.js';
import type { Resource } from '../model/device-list.js';
import type { UsableList } from './ports.js';

/**
 * The lists of resources with usable devices, except those in the kubelet's own answer.
 *
 * @param front has the resources offered to the kubelet whose answer ours is joined to: Front (front/front); undefined: ours is
 * joined to none
 * @param strangerOf the ordinary user of the plugin whose list it is
 */
export function usableLists(
  resources: Iterable<Resource>,
  front: { isFronted(resource: string): boolean } | undefined,
  partsOf: (list: Buffer) => AsyncIterable<readonly Device[]>,
  strangerOf: (instanceId: string) => number | undefined,
): UsableList[] {
  return [...resources]
    .filter(({ name, allocatable }) => allocatable > 0 && front?.isFronted(name) !== true)
    .map(({ name, holding }) => ({
      ...{ resource: name, list: holding, stranger: strangerOf(holding.instanceId) },
      devices: () => partsOf(holding.raw),
    }));
}
