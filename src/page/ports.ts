// The ports of the page to the rest of the broker. All of it is read from memory and does no I/O; rows are worked out as they are
// taken.
import type { Clock } from '../kernel/clock.js';
import type { Answer } from '../model/answer.js';
import type { BrokerEvent } from '../model/event.js';
import type { LeaseRow, PagePlace } from '../model/page-views.js';
import type { DeviceView, ExplainView, LimitView, ListedResource, PluginView, StatusView } from '../model/views.js';

/** The devices of a resource, of which only those are worked out that somebody is shown. */
export interface ShownDevices {
  readonly total: number;
  /** Those that cannot be given out first, otherwise in the order of the list. */
  slice(from: number, to: number): readonly DeviceView[];
}

/** The answers of the commands, and the journal: `pageSource` (daemon/page). */
export interface PageSource {
  readonly place: PagePlace;
  /** The number of the newest event. */
  seq(): number;
  head(): Omit<StatusView, 'plugins' | 'resources'>;
  /** @param only of these plugins (`type/name`), where others need not be worked out */
  plugins(only?: ReadonlySet<string>): Iterable<PluginView>;
  /** When a held incarnation is given up, epoch milliseconds; undefined where no clock runs for it. */
  keptUntil(plugin: PluginView): number | undefined;
  /** @param only those of these plugins, where others need not be worked out */
  resources(only?: ReadonlySet<string>): Iterable<ListedResource>;
  /** Undefined where no resource has that name. A long list is waited for: it is decoded in turns with everything else. */
  devices(resource: string): Promise<ShownDevices> | undefined;
  /** @param only those of these plugins and of nobody, where others need not be worked out */
  limits(only?: ReadonlySet<string>): Iterable<LimitView>;
  leases(): Iterable<LeaseRow>;
  /** The last events of a plugin (`type/name`), oldest first. */
  timeline(plugin: string): readonly BrokerEvent[];
  /** The newest events of all, oldest first; a bounded number. */
  recent(): readonly BrokerEvent[];
  /** The events of the broker's own life, oldest first. */
  lives(): readonly BrokerEvent[];
  /** All events that are kept, from a number on; with `follow` also those to come, until the signal aborts. */
  events(query: { since: number; plugin: string; follow: boolean }, signal: AbortSignal): AsyncIterable<BrokerEvent>;
  /** Without names of owners of devices, in the events too. */
  explain(subject: string): Promise<Answer<ExplainView>>;
  /** The same for a plugin of which entries and timeline are at hand, with what that timeline names. */
  why(subject: string, plugins: readonly PluginView[], events: readonly BrokerEvent[]): ExplainView | undefined;
}

/** The ports of a picture. */
export interface PicturePorts {
  readonly source: PageSource;
  readonly clock: Clock;
  /** Called at each step of long work: undefined, or a promise to wait for, so that others have their turn (platform/time/slices). */
  readonly rest: () => Promise<void> | undefined;
}
