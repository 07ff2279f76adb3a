// The port by which the admin commands reach the rest of the broker.
import type { BrokerEvent, EventQuery } from '../model/event.js';
import type { PluginId } from '../model/ids.js';
import type { LimitView, PluginView, ReloadView, StatusView } from '../model/views.js';
import type { ResourceUse, ShownResource } from './plugin-views.js';

/** The whole picture; devices are made on demand. */
export interface ShownStatus extends Omit<StatusView, 'resources'> {
  readonly resources: readonly ShownResource[];
}

/**
 * The broker as an operator sees it: OperatorCommands (admin/operator-commands). The views are read at once from memory and do
 * no I/O; all their numbers are whole. Verbs resolve when their change is made, with the number of entries they touched (0:
 * there was nothing to do), and leave an `operator` event; whether it is on the disk is asked after them.
 */
export interface AdminPort {
  status(): ShownStatus;
  /** @param only of these plugins (`type/name`), where others need not be worked out */
  plugins(only?: ReadonlySet<string>): readonly PluginView[];
  /** Everybody with an entry, without making views of them. */
  entries(): Iterable<Pick<PluginView, 'type' | 'name' | 'socket' | 'endpoint'>>;
  resources(): readonly ShownResource[];
  /** `plugin` of a bucket is `type/name`, or empty for buckets that are nobody's in particular. */
  limits(): readonly LimitView[];
  /** The use of devices, also of resources whose plugin has gone. */
  readonly use: ResourceUse;
  /**
   * Events, oldest first. Ends after the last kept one, or with `follow` when the signal aborts; a reader that is too
   * slow may be ended with an error, but never makes anybody wait.
   */
  events(query: EventQuery, signal: AbortSignal): AsyncIterable<BrokerEvent>;
  /** Everybody with events (`type/name`). */
  told(): Iterable<string>;
  /** The events that are kept of one plugin (`type/name`), oldest first, without looking at those of others. */
  eventsOf(plugin: string): readonly BrokerEvent[];
  /** The newest events that are kept of a socket, a bounded number, oldest first: looked for in turns with everything else. */
  eventsAt(socket: string): Promise<readonly BrokerEvent[]>;
  /**
   * Ends the states stale and unknown of the ledger. Resolves with the state it ended; undefined when the ledger was in order.
   */
  resetLedger(): Promise<'stale' | 'unknown' | 'unread' | undefined>;
  /** Reads the config file again. Undefined while the broker starts. */
  reload(): Promise<ReloadView | undefined>;
  /** Lifts the quarantine and clears the strikes of all callers of the plugin. */
  pardon(plugin: PluginId): Promise<number>;
  /** Closes all present incarnations of the plugin and keeps them out. */
  deregister(plugin: PluginId): Promise<number>;
  /** Drops its entries that are not connected. */
  forget(plugin: PluginId): Promise<number>;
  /** Whether all changes up to now are on the disk: resolves when they are, or cannot be in time. */
  isWritten(): Promise<boolean>;
}
