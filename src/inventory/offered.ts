// The instance that speaks for each resource at this moment, worked out from lists and instances on request.
import type { Holding, Resource } from '../model/device-list.js';
import type { Served, ServedResources } from '../model/device-use.js';
import { DEVICE_PLUGIN } from '../model/ids.js';
import type { Instance } from '../model/instance.js';
import { resourcesOf } from './resources.js';

/** Lists by instance. Inventory (inventory/inventory) has them. */
export interface HeldLists {
  all(): Iterable<Holding>;
  holding(instanceId: string): Holding | undefined;
}

/** The instances of plugins. Roster (reconcile/roster) has them. */
export interface KnownInstances {
  get(id: string): Instance | undefined;
  ofPlugin(type: string, name: string): readonly Instance[];
  primaryOf(type: string, name: string): Instance | undefined;
}

/** The devices of one resource, for metrics. */
export interface ResourceHealth {
  readonly resource: string;
  readonly healthy: number;
  readonly unhealthy: number;
  /** Devices of a plugin that is lost. */
  readonly held: number;
}

/** States of a plugin that is not lost: an orphaned one has lost its path and goes on serving. */
const THERE: ReadonlySet<string> = new Set(['ready', 'restored', 'orphaned']);

/** All resources that plugins offer. */
export class OfferedResources implements ServedResources {
  readonly #lists: HeldLists;
  readonly #instances: KnownInstances;

  constructor(lists: HeldLists, instances: KnownInstances) {
    this.#lists = lists;
    this.#instances = instances;
  }

  /** As the node would report them, by name. */
  all(): Map<string, Resource> {
    return resourcesOf(this.#lists.all(), (id) => this.#instances.get(id));
  }

  /** How many devices of each can be used, cannot, or have lost their plugin. */
  health(): ResourceHealth[] {
    return [...this.all().values()].map(({ name, owner, capacity, allocatable }) => {
      const isThere = THERE.has(owner.state);
      const rest = capacity - allocatable;
      return { resource: name, healthy: allocatable, unhealthy: isThere ? rest : 0, held: isThere ? 0 : rest };
    });
  }

  names(): ReadonlySet<string> {
    return new Set([...this.#lists.all()].map(({ resource }) => resource));
  }

  of(resource: string): Served | undefined {
    const instances = this.#instances;
    const lists = instances.ofPlugin(DEVICE_PLUGIN, resource).flatMap(({ id }) => this.#lists.holding(id) ?? []);
    const found = resourcesOf(lists, (id) => instances.get(id)).get(resource);
    const instance = found === undefined ? instances.primaryOf(DEVICE_PLUGIN, resource) : instances.get(found.owner.id);
    return instance === undefined ? undefined : { instance, list: found?.holding };
  }
}
