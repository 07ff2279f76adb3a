// The events in memory: the last of each plugin, and the last of all.
import { enterLast } from '../kernel/enter-last.js';
import { writtenBytes } from '../kernel/written.js';
import { LEASE_EVENTS, type BrokerEvent, type EventType } from '../model/event.js';

/** Kept of each plugin, and bytes of them as they are written: more than the life of an honest one takes. */
const PER_PLUGIN = 50;
const BYTES_PER_PLUGIN = 32 * 1024;
/** The bytes of an event beside its texts. */
const BYTES_BESIDE = 150;
/** Kept of all together, so that a reader who follows may be a little late. */
const RECENT = 1000;
/** Rows that are looked through without a pause: some 50 microseconds. */
const SLICE = 64;
/** Events that are found at most where one looks through all rows: all of them may fit. */
const MOST_FOUND = 500;
/** Plugins with events; those that were silent longest are forgotten first. */
const MAX_PLUGINS = 2048;
/**
 * Names that were refused and never came in, which anybody may invent: how many have events, and bytes of each. They are apart,
 * so that they displace no plugin that did come in.
 */
const MAX_OUTSIDERS = 256;
const BYTES_PER_OUTSIDER = 8 * 1024;
const OF_OUTSIDERS: ReadonlySet<EventType> = new Set(['refused', 'flood', 'quarantine']);
/**
 * Plugins with events of leases, which are apart: users decide how often devices are given and come back, and that is to push out
 * nothing of the plugin's own life. As many of each plugin are kept as of that.
 */
const MAX_LEASED = 512;

/**
 * Bytes of all rows, as they are written; a start reads as much of the file (journal/journal). Each row may fill up, but not all of them:
 * then none keeps more than its part of it, which is some events of each, whoever has the names.
 */
const MAX_BYTES = 16 * 1024 * 1024;
/** They are counted each time so many were added. */
const COUNTED_EVERY = 1024 * 1024;

/** The last events of one plugin. */
class Row {
  readonly events: BrokerEvent[] = [];
  readonly #sizes: number[] = [];
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  /** Returns the bytes of the event. */
  add(event: BrokerEvent, mostBytes: number): number {
    const size = BYTES_BESIDE + writtenBytes(event.plugin) + writtenBytes(event.socket) + writtenBytes(event.message);
    this.events.push(event);
    this.#sizes.push(size);
    this.#bytes += size;
    this.cut(mostBytes);
    return size;
  }

  /** Forgets the oldest above so many bytes. The last one stays. */
  cut(mostBytes: number): void {
    while (this.events.length > PER_PLUGIN || (this.#bytes > mostBytes && this.events.length > 1)) {
      this.events.shift();
      this.#bytes -= this.#sizes.shift() ?? 0;
    }
  }
}

/** Bounded; events are added in the order of their numbers. */
export class Timeline {
  readonly #byPlugin = new Map<string, Row>();
  readonly #outsiders = new Map<string, Row>();
  /** Refusals of users in the name of another user's plugin, by that plugin: as outsiders, so that they push out nothing of it. */
  readonly #ofOthers = new Map<string, Row>();
  readonly #ofLeases = new Map<string, Row>();
  /**
   * Events without a plugin, by type: users decide how often a socket is refused or a connection ends, which hides neither how the
   * broker started nor what became of its checkpoint.
   */
  readonly #ofNoPlugin = new Map<EventType, Row>();
  readonly #recent: BrokerEvent[] = [];
  /** Bytes that were added since they were counted. */
  #addedBytes = 0;

  /** Adds the newest event. */
  add(event: BrokerEvent): void {
    this.#recent.push(event);
    if (this.#recent.length > RECENT) this.#recent.shift();
    this.#addedBytes += this.#addToRow(event);
    if (this.#addedBytes < COUNTED_EVERY) return;
    this.#addedBytes = 0;
    const rows = this.#rows();
    if (rows.reduce((sum, { bytes }) => sum + bytes, 0) <= MAX_BYTES) return;
    // Some room at once, so that this is done seldom.
    for (const row of rows) row.cut((MAX_BYTES * 7) / 8 / rows.length);
  }

  #addToRow(event: BrokerEvent): number {
    const { type, plugin, facts } = event;
    if (plugin === '') {
      const row = this.#ofNoPlugin.get(type) ?? new Row();
      this.#ofNoPlugin.set(type, row);
      return row.add(event, BYTES_PER_PLUGIN);
    }
    if (facts?.['by'] !== undefined) return addTo(this.#ofOthers, event, BYTES_PER_OUTSIDER, MAX_OUTSIDERS);
    return LEASE_EVENTS.has(type) ? this.#addOfLease(event) : this.#addOwn(event);
  }

  #addOfLease(event: BrokerEvent): number {
    // Its plugin is not silent.
    const own = this.#byPlugin.get(event.plugin);
    if (own !== undefined) enterLast(this.#byPlugin, event.plugin, own, MAX_PLUGINS);
    return addTo(this.#ofLeases, event, BYTES_PER_PLUGIN, MAX_LEASED);
  }

  #addOwn(event: BrokerEvent): number {
    const { plugin } = event;
    const isOutsider = !this.#byPlugin.has(plugin) && bringsNobodyIn(event);
    const own = this.#byPlugin.get(plugin) ?? this.#outsiders.get(plugin) ?? new Row();
    this.#outsiders.delete(plugin);
    if (isOutsider) enterLast(this.#outsiders, plugin, own, MAX_OUTSIDERS);
    else enterLast(this.#byPlugin, plugin, own, MAX_PLUGINS);
    return own.add(event, isOutsider ? BYTES_PER_OUTSIDER : BYTES_PER_PLUGIN);
  }

  /** Puts events of an earlier life, oldest first, before those that are there. */
  prepend(earlier: readonly BrokerEvent[]): void {
    const present = this.since(0);
    this.#byPlugin.clear();
    this.#outsiders.clear();
    this.#ofOthers.clear();
    this.#ofLeases.clear();
    this.#ofNoPlugin.clear();
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
    for (const { events } of this.#rows()) {
      for (const event of events) if (event.seq >= seq && event.seq < oldest.seq) older.push(event);
    }
    return [...older.sort((a, b) => a.seq - b.seq), ...recent];
  }

  /** The newest of all, oldest first. */
  recent(): readonly BrokerEvent[] {
    return [...this.#recent];
  }

  /** Plugins (`type/name`) with events. */
  plugins(): readonly string[] {
    const all = [this.#byPlugin, this.#outsiders, this.#ofOthers, this.#ofLeases];
    return [...new Set(all.flatMap((rows) => [...rows.keys()]))];
  }

  /** All kept events of one plugin, oldest first: its last events, and its events among the newest of all plugins. */
  keptOf(plugin: string): readonly BrokerEvent[] {
    const oldest = this.#recent[0]?.seq ?? Infinity;
    const older = this.lastOf(plugin).filter(({ seq }) => seq < oldest);
    return [...older, ...this.#recent.filter((event) => event.plugin === plugin)];
  }

  /**
   * The newest events that fit, oldest first, a bounded number.
   *
   * @param rest resolves when others had their turn
   */
  async find(isWanted: (event: BrokerEvent) => boolean, rest: () => Promise<void>): Promise<readonly BrokerEvent[]> {
    const found = new Map<number, BrokerEvent>();
    const look = (events: readonly BrokerEvent[]): void => {
      for (const event of events) if (isWanted(event)) found.set(event.seq, event);
    };
    const newest = (): BrokerEvent[] => [...found.values()].sort((a, b) => a.seq - b.seq).slice(-MOST_FOUND);
    look(this.#recent);
    // Events that come meanwhile may be left out, as if the question had come a moment earlier.
    const rows = this.#rows();
    for (const [at, { events }] of rows.entries()) {
      if (at % SLICE === SLICE - 1) await rest();
      look(events);
      if (found.size <= 4 * MOST_FOUND) continue;
      const kept = newest();
      found.clear();
      look(kept);
    }
    return newest();
  }

  /**
   * The last events of a plugin (`type/name`), oldest first, with the last ones of leases of its devices, and the last refusals of
   * others in its name.
   */
  lastOf(plugin: string): readonly BrokerEvent[] {
    const own = (this.#byPlugin.get(plugin) ?? this.#outsiders.get(plugin))?.events ?? [];
    const beside = [this.#ofOthers, this.#ofLeases].flatMap((rows) => rows.get(plugin)?.events ?? []);
    return beside.length === 0 ? [...own] : [...own, ...beside].sort((a, b) => a.seq - b.seq);
  }

  /** The last events of the broker's own life, oldest first. */
  lives(): readonly BrokerEvent[] {
    return [...(this.#ofNoPlugin.get('broker')?.events ?? [])];
  }

  #rows(): readonly Row[] {
    const all = [this.#byPlugin, this.#outsiders, this.#ofOthers, this.#ofLeases, this.#ofNoPlugin];
    return all.flatMap((rows) => [...rows.values()]);
  }
}

/** Adds an event to the row of its plugin, which is behind all others then. */
function addTo(rows: Map<string, Row>, event: BrokerEvent, mostBytes: number, mostRows: number): number {
  const row = rows.get(event.plugin) ?? new Row();
  enterLast(rows, event.plugin, row, mostRows);
  return row.add(event, mostBytes);
}

/** Whether an event is no sign that its plugin was ever let in: anybody may have a name of his own refused, or asked for. */
function bringsNobodyIn({ type, facts }: BrokerEvent): boolean {
  return OF_OUTSIDERS.has(type) || facts?.['newcomer'] !== undefined;
}
