// The admin commands on the running broker (contract 7).
import type { AdminPort, EventQuery } from '../admin/admin-port.js';
import type { FloodGate } from '../flood/flood-gate.js';
import type { Clock } from '../kernel/clock.js';
import type { BrokerEvent, EventSink } from '../model/event.js';
import { pluginKey, type PluginId } from '../model/ids.js';
import type { StatusView } from '../model/views.js';
import { isConnected } from '../reconcile/instance.js';
import type { Core } from './core.js';
import type { Persistence } from './persistence.js';
import { pluginViews, resourceViews, type FloodFacts } from './views.js';

/** What the commands act on. */
export interface AdminParts {
  readonly core: Core;
  readonly flood: FloodGate;
  readonly persistence: Persistence;
  readonly clock: Clock;
  readonly events: EventSink;
  readonly follow: (query: EventQuery, signal: AbortSignal) => AsyncIterable<BrokerEvent>;
  readonly head: () => Pick<StatusView, 'broker' | 'checkpoint' | 'policy'>;
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
  const { core, flood, persistence, clock, events } = parts;
  const tell = (plugin: PluginId, message: string): void =>
    events.record({ type: 'operator', plugin: pluginKey(plugin), message });
  const plugins: AdminPort['plugins'] = () => pluginViews(core, floodFacts(flood));
  return {
    status: () => ({ ...parts.head(), plugins: plugins(), resources: resourceViews(core) }),
    plugins,
    resources: () => resourceViews(core),
    limits: () => flood.limits(),
    events: (query, signal) => parts.follow(query, signal),
    pardon: (plugin) => {
      const pardoned = flood.pardon(plugin.type, plugin.name);
      const what = pardoned > 0 ? 'strikes and quarantine are gone' : 'it had neither strikes nor a quarantine';
      tell(plugin, `an operator pardoned ${plugin.name}: ${what}`);
      return Promise.resolve(pardoned);
    },
    deregister: async (plugin) => {
      tell(plugin, `an operator deregistered ${plugin.name}: its present incarnations are closed and kept out`);
      const closed = core.closeAll(plugin.type, plugin.name);
      await persistence.bury(closed, clock.wall());
      return closed.length;
    },
    forget: (plugin) => {
      const instances = core.roster.ofPlugin(plugin.type, plugin.name).filter((one) => !isConnected(one));
      for (const instance of instances) {
        if (instance.state !== 'gone' && instance.state !== 'rejected') {
          core.lifecycle.close(instance, 'deregistered', 'was forgotten by an operator');
        }
        core.roster.remove(instance);
      }
      tell(plugin, `an operator dropped ${String(instances.length)} entries of ${plugin.name}`);
      return Promise.resolve(instances.length);
    },
  };
}
