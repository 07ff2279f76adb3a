// The page's data: the newest picture, kept up to date by changes, with the past that is drawn.
import type { BrokerEvent } from '../model/event.js';
import type {
  CapacityStep,
  LeaseRow,
  LimitRow,
  PageChange,
  PageHead,
  PageRows,
  PageSnapshot,
  PluginHistory,
  PluginRow,
  ResourceRow,
  Start,
} from '../model/page-views.js';

/** How far back bars go, milliseconds. */
export const SPAN_MS = 15 * 60_000;
const MOST_EVENTS = 500;
const MOST_STEPS = 64;
const MOST_SEEN = 60;
const LISTS = ['plugins', 'resources', 'limits', 'leases'] as const;

/** A limit and when it was so. */
export type SeenLimit = LimitRow & { readonly asOf: number };

/** Everything that is shown. */
export class Store {
  head: PageHead | undefined;
  place: PageSnapshot['place'] | undefined;
  readonly plugins = new Map<string, PluginRow>();
  readonly resources = new Map<string, ResourceRow>();
  readonly limits = new Map<string, SeenLimit>();
  readonly leases = new Map<string, LeaseRow>();
  /** By `type/name`. */
  readonly past = new Map<
    string,
    { spans: PluginHistory['spans'][number][]; calls: PluginHistory['calls'][number][] }
  >();
  readonly steps = new Map<string, CapacityStep[]>();
  /** Permits of each limit as this page saw them. */
  readonly permits = new Map<string, [at: number, permits: number][]>();
  starts: readonly Start[] = [];
  /** Newest first. */
  events: BrokerEvent[] = [];
  seq = 0;
  /** The broker's clock less ours, milliseconds. */
  #skew = 0;

  /** The broker's time, epoch milliseconds. */
  now(): number {
    return Date.now() + this.#skew;
  }

  /** Takes a whole picture. */
  snapshot(given: PageSnapshot): void {
    this.#heard(given);
    this.head = given;
    this.place = given.place;
    this.starts = given.history.starts;
    for (const name of LISTS) this[name].clear();
    this.past.clear();
    for (const [key, { spans, calls }] of Object.entries(given.history.spans)) {
      this.past.set(key, { spans: [...spans], calls: [...calls] });
    }
    this.steps.clear();
    for (const [name, steps] of Object.entries(given.history.capacity)) this.steps.set(name, [...steps]);
    this.#rows(given);
  }

  /** Takes a change. */
  change(given: PageChange): void {
    this.#heard(given);
    if (this.head !== undefined) {
      const { broker, checkpoint, policy, ledger, refused, needs } = { ...this.head, ...given };
      this.head = { broker, checkpoint, policy, ledger, refused, needs };
    }
    for (const name of LISTS) for (const key of given.removed?.[name] ?? []) this[name].delete(key);
    this.#rows(given);
  }

  /** Takes events, in any order. */
  tell(events: readonly BrokerEvent[]): void {
    const known = new Set(this.events.map(({ seq }) => seq));
    const fresh = events.filter(({ seq }) => !known.has(seq));
    if (fresh.length === 0) return;
    this.events = [...fresh, ...this.events].sort((a, b) => b.seq - a.seq).slice(0, MOST_EVENTS);
    for (const { type, reason, plugin, time } of fresh) {
      const past = this.past.get(plugin);
      const at = Date.parse(time);
      const isCall = type === 'refused' || (type === 'registered' && reason === 'registered');
      if (isCall && past !== undefined && !past.calls.some(([one]) => one === at)) {
        past.calls.push([at, type === 'refused' ? reason : '']);
      }
    }
  }

  #heard({ seq, now }: Pick<PageSnapshot, 'seq' | 'now'>): void {
    this.seq = Math.max(this.seq, seq);
    this.#skew = Date.parse(now) - Date.now();
  }

  #rows({ plugins = [], resources = [], limits = [], leases = [] }: Partial<PageRows>): void {
    const now = this.now();
    for (const row of plugins) {
      this.plugins.set(row.key, row);
      if (row.primary) this.#spans(row, now);
    }
    for (const row of resources) {
      this.resources.set(row.key, row);
      const steps = this.steps.get(row.name) ?? [];
      this.steps.set(row.name, steps);
      const last = steps.at(-1);
      if (last?.[1] !== row.capacity || last[2] !== row.allocatable) steps.push([now, row.capacity, row.allocatable]);
      if (steps.length > MOST_STEPS) steps.shift();
    }
    for (const row of limits) {
      this.limits.set(row.key, { ...row, asOf: now });
      const seen = this.permits.get(row.key) ?? [];
      this.permits.set(row.key, seen);
      seen.push([now, row.permits]);
      if (seen.length > MOST_SEEN) seen.shift();
    }
    for (const row of leases) this.leases.set(row.key, row);
  }

  #spans({ type, name, state, reason, stateSince }: PluginRow, now: number): void {
    const key = `${type}/${name}`;
    const past = this.past.get(key) ?? { spans: [], calls: [] };
    this.past.set(key, past);
    const last = past.spans.at(-1);
    if (last?.[1] !== state || last[2] !== reason)
      past.spans.push([stateSince === '' ? now : Date.parse(stateSince), state, reason]);
    while (past.spans.length > 1 && (past.spans[1]?.[0] ?? now) < now - SPAN_MS) past.spans.shift();
    while (past.calls.length > 0 && (past.calls[0]?.[0] ?? now) < now - SPAN_MS) past.calls.shift();
  }
}
