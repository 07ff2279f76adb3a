// The list for the kubelet: composed from the plugin's list and the devices that pods still have. Pure but for the port that
// knows the wire.
import { ENTRY_OCTETS, MOST_NODES } from '../model/front.js';
import type { FrontWire, ResourceNow } from './ports.js';
import type { Standing } from './standing.js';
import { USER_OCTETS } from './told-shares.js';

/** The kubelet's gRPC library ends the stream at 4 MiB; a list refused here is refused visibly. */
const LARGEST_LIST_BYTES = 3.5 * 1024 * 1024;

/** A list as it is told. */
export interface Told {
  readonly bytes: Buffer;
  readonly healthy: number;
  readonly unhealthy: number;
  /** Octets of its devices in the kubelet's answers, as they count in the share of its user; 0 where it has none. */
  readonly octets: number;
}

/** What is known of a list besides the facts of its plugin. */
export interface Held {
  /**
   * Ids that pods have: those that the plugin does not list any more are kept as unhealthy, because a kubelet reports an id that
   * vanished as healthy.
   */
  readonly held: readonly string[];
  /** The name of a resource of an ordinary user, whose share is counted; undefined: it has none. */
  readonly shared?: string | undefined;
}

/** The goodbye: no devices any more. */
export const NOTHING: Told = { bytes: Buffer.alloc(0), healthy: 0, unhealthy: 0, octets: 0 };

/**
 * Composes the list.
 *
 * @returns undefined when nothing is to be told
 */
export function compose(
  now: ResourceNow | undefined,
  { told }: Pick<Standing, 'told'>,
  { held, shared }: Held,
  wire: FrontWire,
): Told | undefined {
  if (told === 'nothing') return undefined;
  if (told === 'goodbye' || now === undefined) return NOTHING;
  const vanished = held.length === 0 ? [] : wire.unlisted(now.list, held);
  const isAsReported = told === 'reported' && vanished.length === 0;
  const bytes = isAsReported ? now.list : wire.compose(now.list, told === 'unhealthy', vanished);
  const octets = shared === undefined ? 0 : wire.octetsOf(bytes, shared);
  return { bytes, octets, ...counted(now, told, vanished) };
}

/** The same of a list that is told, giving way to others while it is long. Rejects where `compose` throws. */
export async function composeInTurns(
  now: ResourceNow,
  { told }: { readonly told: 'reported' | 'unhealthy' },
  { held, shared }: Held,
  wire: FrontWire,
): Promise<Told> {
  const vanished = held.length === 0 ? [] : await wire.unlistedInTurns(now.list, held);
  const isAsReported = told === 'reported' && vanished.length === 0;
  const bytes = isAsReported ? now.list : await wire.composeInTurns(now.list, told === 'unhealthy', vanished);
  const octets = shared === undefined ? 0 : await wire.octetsInTurns(bytes, shared);
  return { bytes, octets, ...counted(now, told, vanished) };
}

/** A list that is over the share of its user by the number of its devices alone: it is not read, and not told. */
export function beyondShare(now: ResourceNow, { held, shared }: Held): Told | undefined {
  if (shared === undefined) return undefined;
  const octets = Math.max(now.devices, held.length) * MOST_NODES * (shared.length + ENTRY_OCTETS);
  if (octets <= USER_OCTETS) return undefined;
  return { bytes: now.list, octets, ...counted(now, 'reported', []) };
}

/** Why a kubelet would not take a list, or one of an ordinary user is not for it, in a sentence. */
export function beyondKubelet({ bytes, octets }: Told): string | undefined {
  if (octets === Infinity) return `its list has a device with more than ${String(MOST_NODES)} NUMA nodes`;
  if (bytes.length <= LARGEST_LIST_BYTES) return undefined;
  return `its list has ${String(bytes.length)} bytes and the kubelet takes ${String(LARGEST_LIST_BYTES)}`;
}

function counted(
  now: ResourceNow,
  told: Standing['told'],
  vanished: readonly string[],
): Pick<Told, 'healthy' | 'unhealthy'> {
  const healthy = told === 'unhealthy' ? 0 : now.healthy;
  return { healthy, unhealthy: now.devices + vanished.length - healthy };
}

/**
 * Longer lists are compared by how many are healthy in them: about 400 devices. Reading both whole would take everybody's time
 * with each list of a plugin that likes long ones.
 */
const COMPARED_BYTES = 16 * 1024;

/**
 * Whether a device that was healthy in the list before is not any more: this cannot wait. A long list in which as many others
 * became healthy waits with the rest, up to a second.
 */
export function isWorse(before: Told, next: Told, wire: FrontWire): boolean {
  if (next.healthy < before.healthy) return true;
  if (before.healthy === 0 || Math.max(before.bytes.length, next.bytes.length) > COMPARED_BYTES) return false;
  return wire.isWorse(before.bytes, next.bytes);
}
