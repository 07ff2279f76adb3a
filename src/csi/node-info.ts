// A CSI driver's answer about the node, checked before it is trusted.
import { ifPossible } from '../kernel/if-possible.js';
import { Refused, type RefusalCode } from '../model/reasons.js';

/**
 * CSI specification: a node id has 256 bytes or less. Those of all drivers are JSON in one annotation, where the API server takes
 * 262,144 bytes: with names of 63 bytes the 768 plugins of ordinary users have room if each counts as it is written there. Real ids
 * (of instances, disks' hosts, nodes' names) have no character that takes more.
 */
const MAX_NODE_ID_BYTES = 256;
/** Topology segments taken from one driver; the checkpoint keeps them. Real drivers have one to five. */
const MAX_SEGMENTS = 32;
/** Characters of all of them: they are kept in the checkpoint, and those of all drivers are one object of the API server. */
const MAX_TOPOLOGY = 2048;
/** allocatable.count is an int32. */
const MAX_COUNT = 2n ** 31n - 1n;

/** One topology segment: a node label and its value. */
export interface TopologySegment {
  readonly key: string;
  readonly value: string;
}

/** The published facts of one driver on this node. JSON as it stands, for the checkpoint. */
export interface NodeInfo {
  readonly driver: string;
  readonly nodeId: string;
  /** Volumes the node can have; undefined: the driver sets no limit. */
  readonly count?: number;
  /** Sorted by key. */
  readonly topology: readonly TopologySegment[];
}

/** The answer to NodeGetInfo as it came. */
export interface NodeGetInfoAnswer {
  readonly nodeId: string;
  readonly maxVolumesPerNode: bigint;
  readonly segments: ReadonlyMap<string, string>;
}

/**
 * Checks an answer to NodeGetInfo.
 *
 * @throws Refused NODE_ID_EMPTY, NODE_ID_TOO_LONG or NODE_INFO_INVALID
 */
export function checkNodeInfo(driver: string, answer: NodeGetInfoAnswer): NodeInfo {
  const refuse = (code: RefusalCode, problem: string): Refused =>
    new Refused({ code, message: `CSI driver ${driver}: NodeGetInfo answered ${problem}` });
  const { nodeId, maxVolumesPerNode, segments } = answer;
  const bytes = new TextEncoder().encode(nodeId).length;
  const written = new TextEncoder().encode(JSON.stringify(nodeId)).length - '""'.length;
  if (nodeId === '') throw refuse('NODE_ID_EMPTY', 'an empty node id');
  if (bytes > MAX_NODE_ID_BYTES) {
    throw refuse('NODE_ID_TOO_LONG', `a node id of ${bytes} bytes; ${MAX_NODE_ID_BYTES} are allowed`);
  }
  if (written > MAX_NODE_ID_BYTES) {
    throw refuse('NODE_ID_TOO_LONG', `a node id of ${written} bytes in JSON; ${MAX_NODE_ID_BYTES} are allowed`);
  }
  if (segments.size > MAX_SEGMENTS) {
    throw refuse('NODE_INFO_INVALID', `${segments.size} topology segments; ${MAX_SEGMENTS} are taken`);
  }
  const length = [...segments].reduce((sum, [key, value]) => sum + key.length + value.length, 0);
  if (length > MAX_TOPOLOGY) {
    throw refuse('NODE_INFO_INVALID', `a topology of ${length} characters; ${MAX_TOPOLOGY} are taken`);
  }
  for (const [key, value] of segments) {
    if (!isLabelKey(key)) throw refuse('NODE_INFO_INVALID', `the topology key ${shown(key)}, which no label can have`);
    if (!isLabelValue(value)) {
      throw refuse('NODE_INFO_INVALID', `${shown(value)} for topology key ${key}, which no label can hold`);
    }
  }
  const topology = [...segments].map(([key, value]) => ({ key, value })).sort((a, b) => (a.key < b.key ? -1 : 1));
  const count = maxVolumesPerNode > MAX_COUNT ? MAX_COUNT : maxVolumesPerNode;
  return { driver, nodeId, topology, ...(count > 0n ? { count: Number(count) } : {}) };
}

/** Node info as facts for the checkpoint. */
export function factsFrom({ nodeId, count, topology }: NodeInfo): Readonly<Record<string, unknown>> {
  return { nodeId, count, topology };
}

/** The facts of the checkpoint back as node info; undefined when they are not (an older or damaged file). */
export function nodeInfoFrom(driver: string, facts: Readonly<Record<string, unknown>>): NodeInfo | undefined {
  const { nodeId, count, topology } = facts;
  if (typeof nodeId !== 'string' || !Array.isArray(topology)) return undefined;
  const segments = new Map<string, string>();
  for (const segment of topology as readonly unknown[]) {
    if (typeof segment !== 'object' || segment === null || !('key' in segment) || !('value' in segment))
      return undefined;
    if (typeof segment.key !== 'string' || typeof segment.value !== 'string') return undefined;
    segments.set(segment.key, segment.value);
  }
  const limit = typeof count === 'number' && Number.isInteger(count) ? BigInt(count) : 0n;
  return ifPossible(() => checkNodeInfo(driver, { nodeId, maxVolumesPerNode: limit, segments }));
}

const NAME_PART = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const PREFIX = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;

/** A label key as the API server takes it: an optional DNS prefix of at most 253 characters, a slash, and a name. */
function isLabelKey(key: string): boolean {
  const parts = key.split('/');
  const name = parts.pop() ?? '';
  const [prefix] = parts;
  if (parts.length > 1 || !NAME_PART.test(name)) return false;
  return prefix === undefined || (prefix.length <= 253 && PREFIX.test(prefix));
}

function isLabelValue(value: string): boolean {
  return value === '' || NAME_PART.test(value);
}

/** Text from outside, quoted and cut for a message. */
function shown(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}
