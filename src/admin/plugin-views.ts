// The views of plugins and resources for operators, computed from the actual state on request.
import type { Holding, Resource } from '../model/device-list.js';
import type { Device } from '../model/device.js';
import type { PenaltyView } from '../model/flood.js';
import { pluginKey } from '../model/ids.js';
import type { Instance } from '../model/instance.js';
import {
  type DeviceView,
  type FrontShown,
  type HolderView,
  type ListedResource,
  NO_FRONT,
  type PluginView,
  timeText,
} from '../model/views.js';

/**
 * The known facts about plugins: Core (daemon/core) has Roster (reconcile/roster), Inventory (inventory/inventory) and
 * OfferedResources (inventory/offered).
 */
export interface KnownPlugins {
  readonly roster: {
    all(): Iterable<Instance>;
    get(id: string): Instance | undefined;
    ofPlugin(type: string, name: string): readonly Instance[];
    primaryOf(type: string, name: string): Instance | undefined;
  };
  readonly inventory: { holding(instanceId: string): Holding | undefined };
  /** Resources as the node would report them, by name. */
  readonly offered: { all(): ReadonlyMap<string, Resource> };
}

/** Strikes and quarantine of a plugin's caller, for its view: `floodFacts` (admin/operator-commands). */
export type FloodFacts = (instance: Instance) => PenaltyView;

/**
 * All incarnations by name, then by type; newest first within a plugin.
 *
 * @param only of these plugins; absent: of all
 */
export function pluginViews(known: KnownPlugins, flood: FloodFacts, only?: ReadonlySet<string>): PluginView[] {
  return [...eachPluginView(known, flood, only)];
}

/**
 * The same one by one, each of the moment when it is taken: a thousand at once keep others waiting.
 *
 * @param only of these plugins; absent: of all
 */
export function* eachPluginView(
  known: KnownPlugins,
  flood: FloodFacts,
  only?: ReadonlySet<string>,
): Generator<PluginView> {
  const seen = new Set<string>();
  const all = [...known.roster.all()].filter((instance) => only?.has(pluginKey(instance)) !== false);
  for (const { type, name } of all.sort(byName)) {
    const key = pluginKey({ type, name });
    if (seen.has(key)) continue;
    seen.add(key);
    const primary = known.roster.primaryOf(type, name);
    for (const instance of known.roster.ofPlugin(type, name)) {
      const resource = known.inventory.holding(instance.id)?.resource ?? '';
      yield pluginView(instance, instance === primary, resource, flood);
    }
  }
}

function byName(a: Instance, b: Instance): number {
  if (a.name !== b.name) return a.name < b.name ? -1 : 1;
  return a.type === b.type ? 0 : a.type < b.type ? -1 : 1;
}

function pluginView(instance: Instance, primary: boolean, resource: string, flood: FloodFacts): PluginView {
  const { strikes, quarantinedUntil } = flood(instance);
  return {
    type: instance.type,
    name: instance.name,
    primary,
    state: instance.state,
    reason:
      instance.reason === 'registered' && !instance.isDurable && instance.state === 'ready'
        ? 'not-checkpointed'
        : instance.reason,
    endpoint: instance.endpointPath,
    socket: instance.socketPath,
    uid: instance.caller?.uid ?? -1,
    pid: instance.caller?.pid ?? -1,
    apiVersion: instance.version === '' ? (instance.versions[0] ?? '') : instance.version,
    registeredAt: timeText(instance.registeredAt),
    stateSince: timeText(instance.stateSince),
    resource,
    counters: { ...instance.counters, strikes },
    quarantinedUntil: quarantinedUntil === undefined ? '' : timeText(quarantinedUntil),
  };
}

/** The holders of a resource's devices, by device. */
export type TakenDevices = Pick<ReadonlyMap<string, HolderView>, 'size' | 'get'> &
  Iterable<readonly [string, HolderView]>;

/** The use of a resource's devices: `resourceUse` (admin/device-holders). */
export interface ResourceUse {
  /** The holders of a resource's devices, by device: leases, and pods of the kubelet, which have no lease. */
  takenOf(resource: string): TakenDevices;
  consumerOf(resource: string): string;
  front(resource: string): FrontShown;
}

/** Nothing becomes of them. */
export const UNUSED: ResourceUse = { takenOf: () => new Map(), consumerOf: () => 'local', front: () => NO_FRONT };

/** The same, with its devices on demand, which `resourceViews` below decodes: a list is as long as its plugin likes. */
export interface ShownResource extends ListedResource {
  /** Part by part, each made when it is taken, and others have their turn before it. */
  readonly devices: () => AsyncIterable<readonly DeviceView[]>;
}

/**
 * All resources by name. Devices are decoded when they are read: kept decoded they would fill the memory.
 *
 * @param partsOf decodes an accepted list, yielding to other work: `partsOf` (platform/wire/list-decoder)
 * @param use the use of the devices
 */
export function resourceViews(
  known: KnownPlugins,
  partsOf: (raw: Buffer) => AsyncIterable<readonly Device[]>,
  use: ResourceUse = UNUSED,
): ShownResource[] {
  return byResource(known).map((resource) => {
    const { name, holding } = resource;
    const taken = use.takenOf(name);
    return {
      ...listed(known, resource, taken, use),
      async *devices() {
        for await (const part of partsOf(holding.raw)) yield part.map((device) => deviceView(device, taken));
      },
    };
  });
}

/**
 * The same one by one and without devices, each of the moment when it is taken.
 *
 * @param only those of these plugins; absent: all
 */
export function* eachResourceView(
  known: KnownPlugins,
  use: ResourceUse,
  only?: ReadonlySet<string>,
): Generator<ListedResource> {
  for (const resource of byResource(known, only)) yield listed(known, resource, use.takenOf(resource.name), use);
}

/** One device and its holder. */
export function deviceView({ id, health, numaNodes }: Device, taken: TakenDevices): DeviceView {
  const holder = taken.get(id);
  return { id, health, numaNodes, lease: holder?.lease ?? '', owner: holder?.owner ?? '' };
}

function byResource(known: KnownPlugins, only?: ReadonlySet<string>): Resource[] {
  const isWanted = ({ owner }: Resource): boolean => {
    const instance = known.roster.get(owner.id);
    return instance === undefined || only?.has(pluginKey(instance)) !== false;
  };
  return [...known.offered.all().values()].filter(isWanted).sort((a, b) => (a.name < b.name ? -1 : 1));
}

function listed(
  known: KnownPlugins,
  { name, owner, capacity, allocatable }: Resource,
  taken: TakenDevices,
  use: ResourceUse,
): ListedResource {
  const instance = known.roster.get(owner.id);
  return {
    name,
    plugin: instance === undefined ? '' : pluginKey(instance),
    state: owner.state,
    capacity,
    allocatable,
    allocated: taken.size,
    consumer: use.consumerOf(name),
    front: use.front(name),
  };
}
