// The admin commands on the running broker.
import type { AdminPort } from '../admin/admin-port.js';
import type { Allocations } from '../allocation/allocations.js';
import type { FloodGate } from '../flood/flood-gate.js';
import type { Clock } from '../kernel/clock.js';
import type { EventSink } from '../model/event.js';
import { pluginKey, type PluginId } from '../model/ids.js';
import type { ReloadView, StatusView } from '../model/views.js';
import { devicesOf } from '../platform/wire/list-decoder.js';
import type { Core } from './core.js';
import type { Persistence } from '../checkpoint/persistence.js';
import { pluginViews, resourceViews, type FloodFacts, type ResourceUse } from '../admin/plugin-views.js';

/** What the commands act on. */
export interface AdminParts {
  readonly core: Core;
  readonly flood: FloodGate;
  readonly persistence: Persistence;
  readonly leases: Allocations;
  readonly clock: Clock;
  readonly events: EventSink & Pick<AdminPort, 'events'>;
  /** What becomes of the devices. */
  readonly use: ResourceUse;
  readonly reload: () => Promise<ReloadView | undefined>;
  readonly head: () => Omit<StatusView, 'plugins' | 'resources'>;
}

/** Strikes and quarantines as `limits` shows them, by plugin and uid. */
function floodFacts(flood: FloodGate): FloodFacts {
  const records = new Map<string, { strikes: number; quarantinedUntil: number | undefined }>();
  for (const limit of flood.limits()) {
    if (limit.limit !== 'register' || (limit.strikes === 0 && limit.quarantinedUntil === '')) continue;
    const until = limit.quarantinedUntil === '' ? undefined : Date.parse(limit.quarantinedUntil);
    records.set(`${limit.plugin} ${String(limit.uid)}`, { strikes: limit.strikes, quarantinedUntil: until });
  }
  const none = { strikes: 0, quarantinedUntil: undefined };
  return (instance) => records.get(`${pluginKey(instance)} ${String(instance.caller?.uid ?? -1)}`) ?? none;
}

/** The port of the admin stage. */
export function adminPort(parts: AdminParts): AdminPort {
  const { core, flood, persistence, leases, clock, events } = parts;
  const tell = (plugin: PluginId, message: string): void =>
    events.record({ type: 'operator', plugin: pluginKey(plugin), message });
  const plugins: AdminPort['plugins'] = () => pluginViews(core, floodFacts(flood));
  return {
    reload: () => parts.reload(),
    status: () => ({ ...parts.head(), plugins: plugins(), resources: resourceViews(core, devicesOf, parts.use) }),
    plugins,
    resources: () => resourceViews(core, devicesOf, parts.use),
    limits: () => flood.limits(),
    use: parts.use,
    events: (query, signal) => events.events(query, signal),
    resetLedger: async () => {
      const before = await leases.reset();
      if (before === 'stale' || before === 'unknown') {
        events.record({ type: 'operator', message: `an operator reset the ledger, which was ${before}` });
      }
      return before;
    },
    pardon: (plugin) => {
      const pardoned = flood.pardon(plugin.type, plugin.name);
      const what = pardoned > 0 ? 'strikes and quarantine are gone' : 'it had neither strikes nor a quarantine';
      tell(plugin, `an operator pardoned ${plugin.name}: ${what}`);
      return Promise.resolve(pardoned);
    },
    deregister: async (plugin) => {
      tell(plugin, `an operator deregistered ${plugin.name}: its present incarnations are closed and kept out`);
      const closed = core.operatorActions.closeAll(plugin.type, plugin.name);
      await persistence.addTombstones(closed, clock.wall());
      return closed.length;
    },
    forget: (plugin) => {
      const forgotten = core.operatorActions.forget(plugin.type, plugin.name);
      tell(plugin, `an operator dropped ${String(forgotten)} entries of ${plugin.name}`);
      return Promise.resolve(forgotten);
    },
  };
}
