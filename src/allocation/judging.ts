// Judges the devices of a lease by the lists of their plugins. Pure.
import { HEALTHY } from '../model/device.js';
import type { LeaseReason } from '../model/allocation-reasons.js';
import type { Granted } from '../model/lease.js';
import type { Offer } from './ports.js';

/** A fault of a lease: why, and the sentence about it. */
export interface Impairment {
  readonly reason: LeaseReason;
  readonly message: string;
}

/** The health of leased devices by id, as their plugin reports it; `away` when it cannot be asked, `gone` when there is none. */
export type Listed = (resource: string) => ReadonlyMap<string, string> | 'away' | 'gone';

/** The health of some devices in the present offer of a resource. `some` is asked only where there is a list. */
export function listedBy(offer: Offer | undefined, some: () => { has(id: string): boolean }): ReturnType<Listed> {
  if (offer === undefined) return 'gone';
  // Of a plugin that is away only its last word is known, and it may come back with another one.
  if (!offer.isReady || offer.devices === undefined) return 'away';
  const ids = some();
  const health = new Map<string, string>();
  for (const device of offer.devices) if (ids.has(device.id)) health.set(device.id, device.health);
  return health;
}

/**
 * The first fault of a lease; undefined when there is none, or nothing is known.
 *
 * @param isSettled false while plugins of before a restart may still come back
 */
export function impairmentOf(
  granted: readonly Granted[],
  listedOf: Listed,
  isSettled: boolean,
): Impairment | undefined {
  for (const { resource, devices } of granted) {
    const listed = listedOf(resource);
    if (listed === 'gone' && isSettled) {
      return { reason: 'plugin-gone', message: `nobody offers ${resource} any more` };
    }
    if (typeof listed === 'string') continue;
    for (const { id } of devices) {
      const health = listed.get(id);
      if (health === undefined)
        return { reason: 'device-missing', message: `${resource} has no device ${id} any more` };
      if (health !== HEALTHY) return { reason: 'device-unhealthy', message: `${id} of ${resource} is ${health}` };
    }
  }
  return undefined;
}
