// What operators see, computed from the truth when they ask (contract 7).
import type { Resource } from '../inventory/resources.js';
import { pluginKey } from '../model/ids.js';
import type { PluginView, ResourceView } from '../model/views.js';
import { WireError } from '../platform/wire/wire-error.js';
import { readDevices } from '../platform/wire/device-list-reader.js';
import type { Instance } from '../reconcile/instance.js';
import type { Core } from './core.js';

/** Epoch milliseconds as RFC 3339; empty for never. */
export function timeText(wallMs: number): string {
  return wallMs <= 0 ? '' : new Date(wallMs).toISOString();
}

/** Strikes and quarantine of a plugin's caller, for its view. */
export type FloodFacts = (instance: Instance) => {
  readonly strikes: number;
  readonly quarantinedUntil: number | undefined;
};

/** All incarnations, newest first within a plugin. */
export function pluginViews(core: Core, flood: FloodFacts): PluginView[] {
  const views: PluginView[] = [];
  const seen = new Set<string>();
  for (const { type, name } of core.roster.all()) {
    const key = pluginKey({ type, name });
    if (seen.has(key)) continue;
    seen.add(key);
    const primary = core.roster.primaryOf(type, name);
    for (const instance of core.roster.ofPlugin(type, name)) {
      views.push(
        pluginView(instance, instance === primary, core.inventory.holding(instance.id)?.resource ?? '', flood),
      );
    }
  }
  return views;
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

/** All resources by name. Devices are decoded when somebody reads them: kept decoded they would fill the memory. */
export function resourceViews(core: Core): ResourceView[] {
  const resources = [...core.resources().values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  return resources.map((resource) => resourceView(resource, core.roster.get(resource.owner.id)));
}

function resourceView(
  { name, owner, holding, capacity, allocatable }: Resource,
  instance: Instance | undefined,
): ResourceView {
  return {
    name,
    plugin: instance === undefined ? '' : pluginKey(instance),
    state: owner.state,
    capacity,
    allocatable,
    allocated: 0,
    get devices() {
      return decodeDevices(holding.raw);
    },
  };
}

function decodeDevices(raw: Buffer): ResourceView['devices'] {
  try {
    return readDevices(raw);
  } catch (problem) {
    if (problem instanceof WireError) return []; // a list from the checkpoint that this version reads otherwise
    throw problem;
  }
}
