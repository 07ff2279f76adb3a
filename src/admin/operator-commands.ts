// The admin commands on the running broker: the views of operators, and the effects and the events of their orders.
import type { Clock } from '../kernel/clock.js';
import type { EventQuery, EventSink } from '../model/event.js';
import type { FloodKey, PenaltyView } from '../model/flood.js';
import { pluginKey, type PluginId } from '../model/ids.js';
import type { Instance } from '../model/instance.js';
import type { Device } from '../model/device.js';
import type { LimitView, ReloadView, StatusView } from '../model/views.js';
import type { AdminPort, ShownStatus } from './admin-port.js';
import { pluginViews, resourceViews, type FloodFacts, type KnownPlugins, type ResourceUse } from './plugin-views.js';

/** The parts that the commands act on. */
export interface CommandPorts {
  /** The state to be shown: Core (daemon/core). */
  readonly known: KnownPlugins;
  /** Decodes an accepted list part by part, giving way to others: `partsOf` (platform/wire/list-decoder). */
  readonly partsOf: (raw: Buffer) => AsyncIterable<readonly Device[]>;
  /** Orders about plugins; each returns the entries it touched: OperatorActions (reconcile/operator-actions). */
  readonly actions: {
    closeAll(type: string, name: string): readonly Instance[];
    forget(type: string, name: string): number;
  };
  /** Limits and penalties: FloodGate (flood/flood-gate). */
  readonly flood: {
    limits(): readonly LimitView[];
    /** The penalties that a caller bears in a plugin's name. */
    penaltyOf(key: FloodKey): PenaltyView;
    pardon(type: string, name: string): number;
  };
  /** The checkpoint: Persistence (checkpoint/persistence). */
  readonly checkpoint: {
    /** Keeps incarnations out. Resolves when that is on disk or cannot be written. */
    addTombstones(instances: readonly Instance[], wallMs: number): Promise<void>;
    isWritten(): Promise<boolean>;
  };
  readonly clock: Clock;
  /** The ledger: Keeper (allocation/keeper). */
  readonly leases: { reset(): ReturnType<AdminPort['resetLedger']> };
  /** The events that are kept: Journal (journal/journal). */
  readonly events: EventSink & Pick<AdminPort, 'events' | 'told' | 'eventsOf' | 'eventsAt'>;
  /** The use of the devices: `resourceUse` (admin/device-holders). */
  readonly use: ResourceUse;
  /** Reads the config file again: PolicyReload (config/policy-reload). */
  readonly reload: () => Promise<ReloadView | undefined>;
  /** Everything that `status` shows beside plugins and resources: Standing.head (admin/standing). */
  readonly head: () => Omit<StatusView, 'plugins' | 'resources'>;
}

/** Strikes and quarantine of an instance's caller. */
export function floodFacts(flood: Pick<CommandPorts['flood'], 'penaltyOf'>): FloodFacts {
  return ({ type, name, caller }) => flood.penaltyOf({ type, name, uid: caller?.uid ?? -1 });
}

/** The commands. */
export class OperatorCommands implements AdminPort {
  readonly use: ResourceUse;
  readonly #ports: CommandPorts;

  constructor(ports: CommandPorts) {
    this.#ports = ports;
    this.use = ports.use;
  }

  reload(): ReturnType<AdminPort['reload']> {
    return this.#ports.reload();
  }

  status(): ShownStatus {
    return { ...this.#ports.head(), plugins: this.plugins(), resources: this.resources() };
  }

  plugins(only?: ReadonlySet<string>): StatusView['plugins'] {
    return pluginViews(this.#ports.known, floodFacts(this.#ports.flood), only);
  }

  *entries(): ReturnType<AdminPort['entries']> {
    for (const { type, name, socketPath, endpointPath } of this.#ports.known.roster.all()) {
      yield { type, name, socket: socketPath, endpoint: endpointPath };
    }
  }

  resources(): ShownStatus['resources'] {
    const { known, partsOf, use } = this.#ports;
    return resourceViews(known, partsOf, use);
  }

  limits(): readonly LimitView[] {
    return this.#ports.flood.limits();
  }

  events(query: EventQuery, signal: AbortSignal): ReturnType<AdminPort['events']> {
    return this.#ports.events.events(query, signal);
  }

  told(): ReturnType<AdminPort['told']> {
    return this.#ports.events.told();
  }

  eventsOf(plugin: string): ReturnType<AdminPort['eventsOf']> {
    return this.#ports.events.eventsOf(plugin);
  }

  eventsAt(socket: string): ReturnType<AdminPort['eventsAt']> {
    return this.#ports.events.eventsAt(socket);
  }

  async resetLedger(): ReturnType<AdminPort['resetLedger']> {
    const { leases, events } = this.#ports;
    const before = await leases.reset();
    if (before === 'stale' || before === 'unknown') {
      events.record({ type: 'operator', message: `an operator reset the ledger, which was ${before}` });
    }
    return before;
  }

  pardon(plugin: PluginId): Promise<number> {
    const pardoned = this.#ports.flood.pardon(plugin.type, plugin.name);
    const what = pardoned > 0 ? 'strikes and quarantine are gone' : 'it had neither strikes nor a quarantine';
    this.#tell(plugin, `an operator pardoned ${plugin.name}: ${what}`);
    return Promise.resolve(pardoned);
  }

  async deregister(plugin: PluginId): Promise<number> {
    const { actions, checkpoint, clock } = this.#ports;
    this.#tell(plugin, `an operator deregistered ${plugin.name}: its present incarnations are closed and kept out`);
    const closed = actions.closeAll(plugin.type, plugin.name);
    await checkpoint.addTombstones(closed, clock.wall());
    return closed.length;
  }

  forget(plugin: PluginId): Promise<number> {
    const forgotten = this.#ports.actions.forget(plugin.type, plugin.name);
    this.#tell(plugin, `an operator dropped ${String(forgotten)} entries of ${plugin.name}`);
    return Promise.resolve(forgotten);
  }

  isWritten(): Promise<boolean> {
    return this.#ports.checkpoint.isWritten();
  }

  #tell(plugin: PluginId, message: string): void {
    this.#ports.events.record({ type: 'operator', plugin: pluginKey(plugin), uid: undefined, message });
  }
}
