// The listeners of instances, lists, quarantines and the checkpoint, in the order in which they are told. A change that a
// listener makes is told to all of them after the change that it answers (Roster.listeners).
import type { Persistence } from '../checkpoint/persistence.js';
import type { StoreState } from '../checkpoint/store-state.js';
import type { FloodGate } from '../flood/flood-gate.js';
import type { Front } from '../front/front.js';
import type { Core } from './core.js';
import type { Leases } from './leases.js';

/** The sources, and the listeners beside the core. */
export interface Subscribers {
  readonly core: Core;
  readonly flood?: FloodGate;
  readonly storeState?: StoreState;
  readonly persistence?: Persistence;
  /** Its requests wait for devices, and the ends of leases for the disk. */
  readonly leases?: Leases;
  /** Stands before a kubelet. */
  readonly front?: Front | undefined;
}

/** Subscribes everybody, once, before anything is opened. */
export function subscribe({ core, flood, storeState, persistence, leases, front }: Subscribers): void {
  const { roster, inventory, restart, recorder, settling, lifecycle, registrySockets, quarantineResponse } = core;
  const isThere = <T>(one: T | undefined): one is T => one !== undefined;
  const users = [leases?.changes, front].filter(isThere);
  const kept = [persistence].filter(isThere);
  // Told before it is acted upon; on disk after that.
  // Settling puts a kept socket back before lifecycle asks which process listens at its path.
  roster.listeners.follow(restart, recorder, settling, lifecycle, registrySockets, ...kept, ...users);
  inventory.listeners.follow(...kept, recorder, ...users);
  flood?.listeners.follow(quarantineResponse, ...kept);
  storeState?.listeners.follow(...kept, ...[leases?.allocations.keeper.endings].filter(isThere));
}
