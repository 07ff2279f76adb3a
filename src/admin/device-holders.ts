// The holders of devices, for operators: owners of leases, and pods of a kubelet.
import { ownerText, type Lease } from '../model/lease.js';
import type { FrontView } from '../model/front.js';
import { NO_FRONT, timeText, type HolderView } from '../model/views.js';
import type { ResourceUse, TakenDevices } from './plugin-views.js';

/** The sources of the answer. */
export interface DeviceHolders {
  /** Allocations (allocation/allocations). */
  readonly leases: { allocatedOf(resource: string): LeaseHolders };
  /** Consumers (allocation/consumers). */
  readonly consumers: { of(resource: string): string; why(resource: string): string };
  /** Towards a kubelet: Front (front/front) and Owners (front/owners); undefined where the broker stands before none. */
  readonly kubelet:
    | {
        readonly front: { view(resource: string): FrontView | undefined };
        readonly owners: { of(resource: string): ReadonlyMap<string, PodPart> };
      }
    | undefined;
}

/** The leases that have devices, by device. */
type LeaseHolders = ReadonlyMap<string, { readonly lease: Pick<Lease, 'id' | 'owner' | 'uid'> }>;

/** A container of a pod. */
interface PodPart {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
}

/** The use of devices, computed each time it is read. */
export function resourceUse({ leases, consumers, kubelet }: DeviceHolders): ResourceUse {
  return {
    takenOf: (name) => new Holders(leases.allocatedOf(name), kubelet?.owners.of(name) ?? new Map()),
    consumerOf: (name) => consumers.of(name),
    front: (name) => {
      const view = kubelet?.front.view(name);
      const shown = view === undefined ? NO_FRONT : { ...view, since: timeText(view.since), stays: false };
      const why = consumers.why(name);
      return why === '' ? shown : { ...shown, reason: why, stays: true };
    },
  };
}

/** The holders of the devices of one resource. Most readers count them: each is shown when it is asked for. */
class Holders implements TakenDevices {
  readonly #leases: LeaseHolders;
  readonly #pods: ReadonlyMap<string, PodPart>;

  constructor(leases: LeaseHolders, pods: ReadonlyMap<string, PodPart>) {
    this.#leases = leases;
    this.#pods = pods;
  }

  get size(): number {
    let size = this.#leases.size;
    for (const device of this.#pods.keys()) if (!this.#leases.has(device)) size += 1;
    return size;
  }

  get(device: string): HolderView | undefined {
    const lease = this.#leases.get(device)?.lease;
    if (lease !== undefined) {
      const { id, owner, uid } = lease;
      return { lease: id, owner: ownerText(owner), kind: owner.bind, uid };
    }
    const part = this.#pods.get(device);
    if (part === undefined) return undefined;
    const { namespace, pod, container } = part;
    return { lease: '', owner: ownerText({ namespace, name: pod, part: container }), kind: 'pod', uid: undefined };
  }

  *[Symbol.iterator](): Iterator<[string, HolderView]> {
    for (const device of new Set([...this.#pods.keys(), ...this.#leases.keys()])) {
      const holder = this.get(device);
      if (holder !== undefined) yield [device, holder];
    }
  }
}
