// The listeners of instances, lists and quarantines, in the order in which they are told. A change that a listener makes is told
// to all of them after the change that it answers (Roster.listeners).
import type { FloodGate } from '../flood/flood-gate.js';
import type { ListListener } from '../model/device-list.js';
import type { RosterListener } from '../model/instance.js';
import type { Persistence } from '../checkpoint/persistence.js';
import type { Core } from './core.js';

/** The sources, and the listeners beside the core. */
export interface Subscribers {
  readonly core: Core;
  readonly flood?: FloodGate;
  readonly persistence?: Persistence;
  /** Stands before a kubelet. */
  readonly front?: (RosterListener & ListListener) | undefined;
  readonly leases?: (RosterListener & ListListener) | undefined;
}

/** Subscribes everybody, once, before anything is opened. */
export function subscribe({ core, flood, persistence, leases, front }: Subscribers): void {
  const { roster, inventory, restart, recorder, settling, lifecycle, registrySockets, quarantineResponse } = core;
  const isThere = <T>(one: T | undefined): one is T => one !== undefined;
  const users = [leases, front].filter(isThere);
  const store = [persistence].filter(isThere);
  // Told before it is acted upon; on disk after that.
  // Settling puts a kept socket back before lifecycle asks which process listens at its path.
  roster.listeners.follow(restart, recorder, settling, lifecycle, registrySockets, ...store, ...users);
  inventory.listeners.follow(...store, recorder, ...users);
  flood?.listeners.follow(quarantineResponse, ...store);
}
