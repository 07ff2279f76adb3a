// Leases as PodResources shows them: an owner stands where a pod stands. Pure.
import type { Lease } from '../model/lease.js';

/** A device as its list has it. */
export interface PodDevice {
  readonly resource: string;
  readonly id: string;
  readonly numaNodes: readonly number[];
}

/** A part of an owner, in the place of a container. */
export interface PodContainer {
  readonly name: string;
  /** By resource and id. */
  readonly devices: readonly PodDevice[];
}

/** An owner, in the place of a pod, as it is shown. */
export interface ShownPod {
  readonly namespace: string;
  readonly name: string;
  /** By name. */
  readonly containers: readonly PodContainer[];
}

/** An owner with its user. */
export interface Pod extends ShownPod {
  readonly uid: number;
}

/**
 * The owners of leases, in the order of their oldest lease. Leases of one owner are one pod, those of one part of it one
 * container; an owner without parts has one container of its own name, because consumers refuse an empty one. Owners choose their
 * names: one that has the name of an older owner of another user has its uid behind it, so that nobody's devices stand under another.
 *
 * @param leases oldest first
 * @param left resources that are not shown; an owner that has no others is not shown either
 */
export function podsOf(leases: readonly Lease[], left: ReadonlySet<string> = new Set()): Pod[] {
  const pods = new Map<
    string,
    { uid: number; namespace: string; name: string; containers: Map<string, PodDevice[]> }
  >();
  for (const { owner, uid, granted } of leases) {
    const shown = granted.filter(({ resource }) => !left.has(resource));
    if (shown.length === 0 && granted.length > 0) continue;
    const { namespace } = owner;
    let { name } = owner;
    const isOfAnother = (): boolean => (pods.get(podKey(namespace, name))?.uid ?? uid) !== uid;
    while (isOfAnother()) name += `.uid-${String(uid)}`;
    const key = podKey(namespace, name);
    const pod = pods.get(key) ?? { uid, namespace, name, containers: new Map<string, PodDevice[]>() };
    pods.set(key, pod);
    const part = owner.part === '' ? owner.name : owner.part;
    const devices = pod.containers.get(part) ?? [];
    pod.containers.set(part, devices);
    for (const { resource, devices: given } of shown) {
      for (const { id, numaNodes } of given) devices.push({ resource, id, numaNodes });
    }
  }
  return [...pods.values()].map(({ uid, namespace, name, containers }) => ({
    uid,
    namespace,
    name,
    containers: [...containers]
      .sort(([one], [other]) => compare(one, other))
      .map(([part, devices]) => ({ name: part, devices: devices.sort(byResourceAndId) })),
  }));
}

/** A pod with its first devices, and without containers that have none of them. */
export function firstDevices({ namespace, name, containers }: ShownPod, count: number): ShownPod {
  const kept: PodContainer[] = [];
  let left = count;
  for (const container of containers) {
    if (left === 0) break;
    const devices = container.devices.slice(0, left);
    left -= devices.length;
    kept.push({ name: container.name, devices });
  }
  return { namespace, name, containers: kept };
}

/** One string for a pod. The separator is in no name that is shown. */
export function podKey(namespace: string, name: string): string {
  return `${namespace}\u0000${name}`;
}

/** Order of pods in an answer: namespace, then name. */
export function byNamespaceAndName(one: ShownPod, other: ShownPod): number {
  return one.namespace === other.namespace ? compare(one.name, other.name) : compare(one.namespace, other.namespace);
}

function byResourceAndId(one: PodDevice, other: PodDevice): number {
  return one.resource === other.resource ? compare(one.id, other.id) : compare(one.resource, other.resource);
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
