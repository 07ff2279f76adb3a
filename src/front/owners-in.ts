// The owners of devices as one answer of the kubelet names them, beside those that it leaves out for the first time. An answer has
// 100,000s of devices where plugins like long lists: it is gone over in slices, and what was known stays until all is.
import { podName } from './double-use.js';
import type { DeviceOwner } from './pods.js';
import type { PodHolding } from './ports.js';

/** A device of a pod that so many answers did not name is free. */
export const ABSENT = 2;

/** Called at each small step; undefined where the work may go on, or a promise that it has to wait for. */
export type Rest = () => Promise<void> | undefined;

/** Owners by device id, by resource. */
export type OwnersByResource = ReadonlyMap<string, ReadonlyMap<string, DeviceOwner>>;

/** What an answer says. */
export interface OwnersTaken {
  readonly byResource: OwnersByResource;
  /** Resources whose devices have other owners than before. */
  readonly changed: ReadonlySet<string>;
  /** Devices that two pods have: a sentence, and the resource. */
  readonly twice: ReadonlyMap<string, string>;
}

/**
 * Reads an answer.
 *
 * @param before what was known; it is not to change meanwhile
 * @param now epoch milliseconds
 */
export async function ownersIn(
  holdings: readonly PodHolding[],
  before: OwnersByResource,
  now: number,
  rest: Rest,
): Promise<OwnersTaken> {
  const byResource = new Map<string, Map<string, DeviceOwner>>();
  const changed = new Set<string>();
  const twice = new Map<string, string>();
  const shared = sharedOwners();
  for (const { namespace, pod, container, resource, ids } of holdings) {
    const known = before.get(resource);
    const here = byResource.get(resource) ?? new Map<string, DeviceOwner>();
    if (ids.length > 0) byResource.set(resource, here);
    for (const id of ids) {
      const wait = rest();
      if (wait !== undefined) await wait;
      const other = here.get(id);
      if (other !== undefined && podName(other) !== podName({ namespace, pod })) {
        const both = `${podName(other)} and ${podName({ namespace, pod })}`;
        const sentence = `device ${JSON.stringify(id)} of ${resource} is in use by pods ${both}, as the kubelet says; end one of them`;
        twice.set(sentence, resource);
      }
      const last = known?.get(id);
      const isSame = last?.pod === pod && last.namespace === namespace;
      if (!isSame) changed.add(resource);
      here.set(id, shared({ namespace, pod, container, since: isSame ? last.since : now, absent: 0 }));
    }
  }
  for (const [resource, known] of before) {
    const here = byResource.get(resource) ?? new Map<string, DeviceOwner>();
    for (const [id, owner] of known) {
      const wait = rest();
      if (wait !== undefined) await wait;
      if (here.has(id)) continue;
      if (owner.absent + 1 < ABSENT) here.set(id, shared({ ...owner, absent: owner.absent + 1 }));
      else changed.add(resource);
    }
    if (here.size > 0) byResource.set(resource, here);
  }
  return { byResource, changed, twice };
}

/** Makes one object for all devices that a container has got at one time, which follow each other in an answer. */
function sharedOwners(): (owner: DeviceOwner) => DeviceOwner {
  let last: DeviceOwner | undefined;
  return (owner) => {
    const isSame =
      last?.pod === owner.pod &&
      last.namespace === owner.namespace &&
      last.container === owner.container &&
      last.since === owner.since &&
      last.absent === owner.absent;
    if (!isSame || last === undefined) last = owner;
    return last;
  };
}
