// Which of the free devices are taken: those that were named, on as few NUMA nodes as possible, where the fit is tightest,
// in the order of the list. Pure.
import type { GrantedDevice, Want } from '../model/lease.js';

/** Devices without topology count as one node of their own: on most machines nothing has any. */
const NO_NODES: readonly number[] = [-1];
/** Linux has no more nodes (NODES_SHIFT is 10 at most); a plugin can say any number, and each would be weighed. */
const MOST_NODES = 1024;
/** Nodes of free devices that are weighed, from the first device on: plugins make lists as long as they like. */
const MOST_WEIGHED = 65_536;

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
  const all = named.size === 0 ? free : free.filter(({ id }) => !named.has(id));
  // Most machines: nothing to weigh, so nothing is counted.
  if (free.every(({ numaNodes }) => numaNodes.length === 0))
    return [...must, ...all.slice(0, want.count - must.length)];
  const rest = weighable(all);
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
  const sizes = sizesOf(rest);
  const [first, ...others] = must;
  // The nodes of the named devices are candidates even where nothing else is free on them.
  const candidates =
    first === undefined ? sizes.keys() : nodesOf(first).filter((node) => others.every((device) => isOn(device, node)));
  let best: { readonly node: number; readonly size: number } | undefined;
  for (const node of candidates) {
    const size = sizes.get(node) ?? 0;
    if (size >= missing && (best === undefined || size < best.size)) best = { node, size };
  }
  if (best === undefined) return undefined;
  const { node } = best;
  return [...must, ...rest.filter((device) => isOn(device, node)).slice(0, missing)];
}

/** On several nodes: those of the named devices first, then the one that helps most, the last one as tight as possible. */
function spread(
  count: number,
  must: readonly GrantedDevice[],
  rest: readonly GrantedDevice[],
): readonly GrantedDevice[] {
  const taken = new Set(must);
  const sizes = sizesOf(rest);
  const byNode = new Map<number, GrantedDevice[]>([...sizes.keys()].map((node) => [node, []]));
  for (const device of rest) for (const node of nodesOf(device)) byNode.get(node)?.push(device);
  const take = (node: number): void => {
    for (const device of byNode.get(node) ?? []) {
      if (taken.size === count) return;
      if (taken.has(device)) continue;
      taken.add(device);
      for (const on of nodesOf(device)) sizes.set(on, (sizes.get(on) ?? 0) - 1);
    }
  };
  for (const node of new Set(must.flatMap(nodesOf))) take(node);
  while (taken.size < count) {
    const next = mostHelpful(sizes, count - taken.size);
    if (next === undefined) break;
    take(next);
  }
  return [...taken];
}

/** The node with just enough for the missing devices; else the one with the most. */
function mostHelpful(sizes: ReadonlyMap<number, number>, missing: number): number | undefined {
  let best: { readonly node: number; readonly size: number } | undefined;
  for (const [node, size] of sizes) {
    if (size === 0) continue;
    const isBetter = (than: { readonly size: number }): boolean =>
      size >= missing && than.size >= missing ? size < than.size : size > than.size;
    if (best === undefined || isBetter(best)) best = { node, size };
  }
  return best?.node;
}

/** The first devices, as far as they are weighed. */
function weighable(devices: readonly GrantedDevice[]): readonly GrantedDevice[] {
  let nodes = 0;
  const end = devices.findIndex((device) => (nodes += Math.max(1, device.numaNodes.length)) > MOST_WEIGHED);
  return end === -1 ? devices : devices.slice(0, end);
}

/** How many devices are on each node, in the order in which the list names the nodes: the first of equals is taken. */
function sizesOf(devices: readonly GrantedDevice[]): Map<number, number> {
  const sizes = new Map<number, number>();
  for (const device of devices) for (const node of nodesOf(device)) sizes.set(node, (sizes.get(node) ?? 0) + 1);
  return sizes;
}

function nodesOf({ numaNodes }: GrantedDevice): readonly number[] {
  if (numaNodes.every(isNode)) return numaNodes.length === 0 ? NO_NODES : numaNodes;
  const nodes = numaNodes.filter(isNode);
  return nodes.length === 0 ? NO_NODES : nodes;
}

function isNode(node: number): boolean {
  return node >= 0 && node < MOST_NODES;
}

function isOn(device: GrantedDevice, node: number): boolean {
  return nodesOf(device).includes(node);
}
