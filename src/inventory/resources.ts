// Resources as the node would report them. Pure: from lists and instance states to capacity and allocatable.
import type { PluginState } from '../model/plugin.js';
import type { Holding, Resource, Speaker } from '../model/device-list.js';

/** States in which healthy devices may be used: an orphaned plugin is connected and reports, only its path is lost. */
function isUsable(speaker: Speaker): boolean {
  return speaker.state === 'ready' || speaker.state === 'orphaned' || (speaker.state === 'restored' && !speaker.isHint);
}

/** States whose lists no longer count at all. */
function isOver(state: PluginState): boolean {
  return state === 'gone' || state === 'rejected';
}

/**
 * The list that counts for each resource. INVARIANT(newest-list-owns): of several instances that have delivered a list,
 * the one that registered last speaks, unless it is lost while an older one serves (its fallback); one without a list
 * never takes capacity away from its predecessor.
 */
export function resourcesOf(
  holdings: Iterable<Holding>,
  speaker: (instanceId: string) => Speaker | undefined,
): Map<string, Resource> {
  const resources = new Map<string, Resource>();
  for (const holding of holdings) {
    const owner = speaker(holding.instanceId);
    if (owner === undefined || isOver(owner.state)) continue;
    const rival = resources.get(holding.resource);
    if (rival !== undefined && speaksBefore(rival.owner, owner)) continue;
    resources.set(holding.resource, {
      name: holding.resource,
      owner,
      holding,
      capacity: holding.devices,
      allocatable: isUsable(owner) ? holding.healthy : 0,
    });
  }
  return resources;
}

function speaksBefore(one: Speaker, other: Speaker): boolean {
  return isUsable(one) === isUsable(other) ? one.seq > other.seq : isUsable(one);
}
