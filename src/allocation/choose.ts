// Which of the free devices are taken: those that were named, on as few NUMA nodes as possible, where the fit is tightest,
// in the order of the list. Pure.
import type { GrantedDevice, Want } from '../model/lease.js';

/** Devices without topology count as one node of their own: on most machines nothing has any. */
const NO_NODES: readonly number[] = [-1];

/**
 * Chooses devices for one want.
 *
 * @param free the free devices in the order of the plugin's list; all of `want.ids` are among them
 * @returns undefined when there are not enough, or with `numa: single` not enough on any one node
 */
export function choose(want: Want, free: readonly GrantedDevice[]): readonly GrantedDevice[] | undefined {
  if (free.length < want.count) return undefined;
  const named = new Set(want.ids);
  const must = named.size === 0 ? [] : free.filter(({ id }) => named.has(id));
  const rest = named.size === 0 ? free : free.filter(({ id }) => !named.has(id));
  // Most machines: nothing to weigh, so nothing is counted.
  if (free.every(({ numaNodes }) => numaNodes.length === 0))
    return [...must, ...rest.slice(0, want.count - must.length)];
  const onOne = singleNode(want.count, must, rest);
  if (onOne !== undefined) return onOne;
  return want.numa === 'single' ? undefined : spread(want.count, must, rest);
}

/** Whether devices have a NUMA node in common, as `numa: single` wants it. */
export function shareNode(devices: readonly GrantedDevice[]): boolean {
  const [first] = devices;
  return first === undefined || nodesOf(first).some((node) => devices.every((device) => isOn(device, node)));
}

/** All on one node: of the nodes with enough the one with the fewest free devices, so that larger wants find room later. */
function singleNode(
  count: number,
  must: readonly GrantedDevice[],
  rest: readonly GrantedDevice[],
): readonly GrantedDevice[] | undefined {
  const missing = count - must.length;
  // Nodes of what was named are candidates even where nothing else is free on them.
  const sizes = new Map(sizesOf(rest).map(({ node, size }) => [node, size]));
  for (const node of must.flatMap(nodesOf)) if (!sizes.has(node)) sizes.set(node, 0);
  const [best] = [...sizes]
    .filter(([node, size]) => size >= missing && must.every((device) => isOn(device, node)))
    .sort(([oneNode, one], [otherNode, other]) => (one === other ? oneNode - otherNode : one - other));
  if (best === undefined) return undefined;
  const taken = [...must];
  for (const device of rest) {
    if (taken.length === count) break;
    if (isOn(device, best[0])) taken.push(device);
  }
  return taken;
}

/** On several nodes: those of what was named first, then the one that helps most, the last one as tight as possible. */
function spread(
  count: number,
  must: readonly GrantedDevice[],
  rest: readonly GrantedDevice[],
): readonly GrantedDevice[] {
  const taken = [...must];
  let left = rest;
  const take = (node: number): void => {
    const there = left.filter((device) => isOn(device, node)).slice(0, count - taken.length);
    const these = new Set(there);
    taken.push(...there);
    left = left.filter((device) => !these.has(device));
  };
  for (const node of new Set(must.flatMap(nodesOf))) take(node);
  while (taken.length < count) {
    const missing = count - taken.length;
    const sizes = sizesOf(left);
    const enough = sizes
      .filter(({ size }) => size >= missing)
      .sort((a, b) => (a.size === b.size ? a.node - b.node : a.size - b.size));
    const [most] = sizes.sort((a, b) => (a.size === b.size ? a.node - b.node : b.size - a.size));
    const next = enough[0] ?? most;
    if (next === undefined) break;
    take(next.node);
  }
  return taken;
}

function sizesOf(devices: readonly GrantedDevice[]): { readonly node: number; readonly size: number }[] {
  const sizes = new Map<number, number>();
  for (const device of devices) for (const node of nodesOf(device)) sizes.set(node, (sizes.get(node) ?? 0) + 1);
  return [...sizes].map(([node, size]) => ({ node, size }));
}

function nodesOf({ numaNodes }: GrantedDevice): readonly number[] {
  return numaNodes.length === 0 ? NO_NODES : numaNodes;
}

function isOn(device: GrantedDevice, node: number): boolean {
  return nodesOf(device).includes(node);
}
