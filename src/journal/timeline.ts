// The events in memory: the last of each plugin, and the last of all.
import type { BrokerEvent } from '../model/event.js';

/** Kept of each plugin. */
const PER_PLUGIN = 50;
/** Kept of all together, so that a reader who follows may be a little late. */
const RECENT = 1000;
/** Plugins with events; those that were silent longest are forgotten first. */
const MAX_PLUGINS = 2048;
/** Where the broker's own life is kept, apart from what else no plugin is named for: its last starts stay known. No plugin's key. */
export const BROKER = '/';

/** Bounded; events are added in the order of their numbers. */
export class Timeline {
  readonly #byPlugin = new Map<string, BrokerEvent[]>();
  readonly #recent: BrokerEvent[] = [];

  /** Adds the newest event. */
  add(event: BrokerEvent): void {
    push(this.#recent, event, RECENT);
    const key = event.type === 'broker' && event.plugin === '' ? BROKER : event.plugin;
    const own = this.#byPlugin.get(key) ?? [];
    push(own, event, PER_PLUGIN);
    // Re-entered, so that the first key is the plugin that was silent longest.
    this.#byPlugin.delete(key);
    this.#byPlugin.set(key, own);
    if (this.#byPlugin.size <= MAX_PLUGINS) return;
    const [silent] = this.#byPlugin.keys();
    if (silent !== undefined) this.#byPlugin.delete(silent);
  }

  /** Puts events of an earlier life, oldest first, before those that are there. */
  prepend(earlier: readonly BrokerEvent[]): void {
    const present = this.since(0);
    this.#byPlugin.clear();
    this.#recent.length = 0;
    const first = present[0]?.seq ?? Infinity;
    for (const event of earlier) if (event.seq < first) this.add(event);
    for (const event of present) this.add(event);
  }

  /** All that is kept with this number or a later one, oldest first. */
  since(seq: number): readonly BrokerEvent[] {
    const [oldest] = this.#recent;
    if (oldest === undefined) return [];
    const recent = this.#recent.filter((event) => event.seq >= seq);
    if (oldest.seq <= seq) return recent;
    const older: BrokerEvent[] = [];
    for (const own of this.#byPlugin.values()) {
      for (const event of own) if (event.seq >= seq && event.seq < oldest.seq) older.push(event);
    }
    return [...older.sort((a, b) => a.seq - b.seq), ...recent];
  }

  /** The newest of all, oldest first. */
  recent(): readonly BrokerEvent[] {
    return [...this.#recent];
  }

  /** The last events of a plugin (`type/name`), oldest first. */
  of(plugin: string): readonly BrokerEvent[] {
    return [...(this.#byPlugin.get(plugin) ?? [])];
  }
}

function push(events: BrokerEvent[], event: BrokerEvent, atMost: number): void {
  events.push(event);
  if (events.length > atMost) events.shift();
}
