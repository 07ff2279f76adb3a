// The list for the kubelet: composed from the plugin's list and the devices that pods still have. Pure but for the port that
// knows the wire.
import type { FrontWire, ResourceNow } from './ports.js';
import type { Standing } from './standing.js';

/** The kubelet's gRPC library ends the stream at 4 MiB; a list refused here is refused visibly. */
export const LARGEST_LIST_BYTES = 3.5 * 1024 * 1024;

/** A list as it is told. */
export interface Told {
  readonly bytes: Buffer;
  readonly healthy: number;
  readonly unhealthy: number;
}

/** The goodbye: no devices any more. */
export const NOTHING: Told = { bytes: Buffer.alloc(0), healthy: 0, unhealthy: 0 };

/**
 * Composes the list.
 *
 * @param held ids that pods have: those that the plugin does not list any more are kept as unhealthy, because a kubelet
 *   reports an id that vanished as healthy
 * @returns undefined when nothing is to be told
 */
export function compose(
  now: ResourceNow | undefined,
  { told }: Pick<Standing, 'told'>,
  held: readonly string[],
  wire: FrontWire,
): Told | undefined {
  if (told === 'nothing') return undefined;
  if (told === 'goodbye' || now === undefined) return NOTHING;
  const vanished = held.length === 0 ? [] : unlisted(held, wire.healthOf(now.list, held));
  const isAsReported = told === 'reported' && vanished.length === 0;
  const bytes = isAsReported ? now.list : wire.compose(now.list, told === 'unhealthy', vanished);
  return counted(now, told, vanished, bytes);
}

/** The same of a list that is told, giving way to others while it is long. Rejects where `compose` throws. */
export async function composeInTurns(
  now: ResourceNow,
  { told }: { readonly told: 'reported' | 'unhealthy' },
  held: readonly string[],
  wire: FrontWire,
): Promise<Told> {
  const vanished = held.length === 0 ? [] : unlisted(held, await wire.healthInTurns(now.list, held));
  const isAsReported = told === 'reported' && vanished.length === 0;
  const bytes = isAsReported ? now.list : await wire.composeInTurns(now.list, told === 'unhealthy', vanished);
  return counted(now, told, vanished, bytes);
}

function unlisted(held: readonly string[], listed: ReadonlyMap<string, boolean>): readonly string[] {
  return held.filter((id) => !listed.has(id));
}

function counted(now: ResourceNow, told: Standing['told'], vanished: readonly string[], bytes: Buffer): Told {
  const healthy = told === 'unhealthy' ? 0 : now.healthy;
  return { bytes, healthy, unhealthy: now.devices + vanished.length - healthy };
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
