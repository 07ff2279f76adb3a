// The holders of devices, for operators: owners of leases, and pods of a kubelet.
import { ownerText, type Lease } from '../model/lease.js';
import type { FrontView } from '../model/front.js';
import { NO_FRONT, timeText, type HolderView } from '../model/views.js';
import type { ResourceUse } from './plugin-views.js';

/** The sources of the answer. */
export interface DeviceHolders {
  readonly leases: { allocatedOf(resource: string): ReadonlyMap<string, Pick<Lease, 'id' | 'owner' | 'uid'>> };
  readonly consumers: { of(resource: string): string; why(resource: string): string };
  /** Towards a kubelet; undefined where the broker stands before none. */
  readonly kubelet:
    | {
        readonly front: { view(resource: string): FrontView | undefined };
        readonly owners: { of(resource: string): ReadonlyMap<string, PodPart> };
      }
    | undefined;
}

/** A container of a pod. */
interface PodPart {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
}

/** The use of devices, computed each time it is read. */
export function resourceUse({ leases, consumers, kubelet }: DeviceHolders): ResourceUse {
  return {
    takenOf: (name) => {
      const taken = new Map<string, HolderView>();
      for (const [device, { namespace, pod, container }] of kubelet?.owners.of(name) ?? [])
        taken.set(device, {
          lease: '',
          owner: ownerText({ namespace, name: pod, part: container }),
          kind: 'pod',
          uid: undefined,
        });
      for (const [device, { id, owner, uid }] of leases.allocatedOf(name))
        taken.set(device, { lease: id, owner: ownerText(owner), kind: owner.bind, uid });
      return taken;
    },
    consumerOf: (name) => consumers.of(name),
    front: (name) => {
      const view = kubelet?.front.view(name);
      const shown = view === undefined ? NO_FRONT : { ...view, since: timeText(view.since), stays: false };
      const why = consumers.why(name);
      return why === '' ? shown : { ...shown, reason: why, stays: true };
    },
  };
}
