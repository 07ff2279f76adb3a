// Node facts as Kubernetes objects have them, and the changes that bring objects there. Pure; the kubelet's writes are in its
// nodeinfomanager, and the API server's rules in its validation of CSINode.
import type { NodeInfo } from '../../csi/node-info.js';
import { ifPossible } from '../../kernel/if-possible.js';

/** Annotation of the Node: a JSON object of node ids by driver. */
export const NODE_ID_ANNOTATION = 'csi.volume.kubernetes.io/nodeid';

/** One driver of a CSINode, as the API has it. */
export interface CsiNodeDriver {
  readonly name: string;
  readonly nodeID: string;
  readonly topologyKeys?: readonly string[] | null;
  readonly allocatable?: { readonly count?: number } | null;
}

/** The parts of a Node that matter here. */
export interface NodeFacts {
  readonly annotations: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
}

/** How a Node has to change. */
export interface NodeChange {
  /** The new text of the annotation; null removes it, undefined leaves it. */
  readonly nodeIds: string | null | undefined;
  /** Labels to add. */
  readonly labels: Readonly<Record<string, string>>;
}

/** How the drivers of a CSINode have to change. */
export interface DriversChange {
  /** Names that are not wanted. */
  readonly remove: readonly string[];
  /** Names of changed entries, to be removed before they are added: the API server lets no entry be altered. */
  readonly replace: readonly string[];
  readonly add: readonly CsiNodeDriver[];
}

/** The entry of one driver in CSINode. */
export function driverEntry(info: NodeInfo): CsiNodeDriver {
  return {
    name: info.driver,
    nodeID: info.nodeId,
    topologyKeys: info.topology.map(({ key }) => key),
    ...(info.count === undefined ? {} : { allocatable: { count: info.count } }),
  };
}

/**
 * Labels of a Node to which drivers still add, in characters of keys and values, which are ASCII. Nobody takes labels away: drivers
 * that name others and others would fill the object (1.5 MiB in etcd), and the kubelet could not write its status any more.
 */
export const MAX_LABELS = 65_536;

/**
 * The drivers whose topology contradicts a label that is there, or that of a driver before them. The kubelet refuses
 * such a driver, because its volumes would be scheduled to the wrong nodes. Also those for whose labels there is no room.
 *
 * @param room the characters that all labels may have; those that are there stay all the same
 * @returns a sentence for each
 */
export function topologyConflicts(
  labels: ReadonlyMap<string, string>,
  wanted: ReadonlyMap<string, NodeInfo>,
  room = Infinity,
): ReadonlyMap<string, string> {
  const taken = new Map(labels);
  const conflicts = new Map<string, string>();
  let used = lengthOf(taken);
  for (const [driver, { topology }] of wanted) {
    const clash = topology.find(({ key, value }) => (taken.get(key) ?? value) !== value);
    const added = new Map(topology.filter(({ key }) => !taken.has(key)).map(({ key, value }) => [key, value]));
    const length = lengthOf(added);
    if (clash !== undefined) {
      const { key, value } = clash;
      const present = `${key}=${taken.get(key) ?? ''}`;
      conflicts.set(driver, `CSI driver ${driver} says ${key}=${value}, but the node has the label ${present}`);
    } else if (length > 0 && used + length > room) {
      const most = `the labels of the node would have ${used + length} characters with its topology, ${room} are allowed`;
      conflicts.set(driver, `CSI driver ${driver}: ${most}; remove labels of drivers that are gone`);
    } else {
      for (const [key, value] of added) taken.set(key, value);
      used += length;
    }
  }
  return conflicts;
}

function lengthOf(labels: ReadonlyMap<string, string>): number {
  let length = 0;
  for (const [key, value] of labels) length += key.length + value.length;
  return length;
}

/**
 * The node id annotation with some drivers set and others removed; all others stay.
 *
 * @returns the new text, null when nothing is left, undefined when nothing changes
 * @throws Error when the present text is not a JSON object of strings
 */
export function mergeNodeIds(
  present: string | undefined,
  wanted: Iterable<Pick<NodeInfo, 'driver' | 'nodeId'>>,
  unwanted: ReadonlySet<string>,
): string | null | undefined {
  const ids = parseNodeIds(present);
  let isChanged = false;
  for (const driver of unwanted) isChanged = ids.delete(driver) || isChanged;
  for (const { driver, nodeId } of wanted) {
    if (ids.get(driver) === nodeId) continue;
    ids.set(driver, nodeId);
    isChanged = true;
  }
  if (!isChanged) return undefined;
  const sorted = [...ids].sort(([a], [b]) => (a < b ? -1 : 1));
  return sorted.length === 0 ? null : JSON.stringify(Object.fromEntries(sorted));
}

function parseNodeIds(text: string | undefined): Map<string, string> {
  if (text === undefined || text === '') return new Map();
  const parsed = ifPossible(() => JSON.parse(text) as unknown);
  const isObject = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed);
  const entries = isObject ? Object.entries(parsed) : [['', undefined]];
  if (entries.every((entry): entry is [string, string] => typeof entry[1] === 'string')) return new Map(entries);
  throw new Error(
    `the annotation ${NODE_ID_ANNOTATION} of the node is not a JSON object of node ids; correct or remove it`,
  );
}

/** The changes of the Node; undefined when there are none. */
export function planNode(
  node: NodeFacts,
  wanted: ReadonlyMap<string, NodeInfo>,
  unwanted: ReadonlySet<string>,
): NodeChange | undefined {
  const nodeIds = mergeNodeIds(node.annotations[NODE_ID_ANNOTATION], wanted.values(), unwanted);
  const labels = new Map<string, string>();
  for (const { topology } of wanted.values()) {
    for (const { key, value } of topology) if (node.labels[key] !== value) labels.set(key, value);
  }
  return nodeIds === undefined && labels.size === 0 ? undefined : { nodeIds, labels: Object.fromEntries(labels) };
}

/** The changes of the CSINode. */
export function planDrivers(
  present: readonly CsiNodeDriver[],
  wanted: ReadonlyMap<string, NodeInfo>,
  unwanted: ReadonlySet<string>,
): DriversChange {
  const remove: string[] = [];
  const replace: string[] = [];
  const asWanted = new Set<string>();
  for (const entry of present) {
    const info = wanted.get(entry.name);
    if (unwanted.has(entry.name)) remove.push(entry.name);
    else if (info !== undefined) {
      if (sameEntry(entry, driverEntry(info))) asWanted.add(entry.name);
      else replace.push(entry.name);
    }
  }
  const add = [...wanted.values()].filter(({ driver }) => !asWanted.has(driver)).map(driverEntry);
  return { remove, replace, add };
}

function sameEntry(a: CsiNodeDriver, b: CsiNodeDriver): boolean {
  const keys = (entry: CsiNodeDriver): string => [...(entry.topologyKeys ?? [])].sort().join(' ');
  return a.nodeID === b.nodeID && keys(a) === keys(b) && a.allocatable?.count === b.allocatable?.count;
}
