// The whole picture as text, and what of it changed since it was looked at last. Rows are kept as the text they were sent
// as: comparing is comparing texts, and a snapshot is put together of them. Long lists are gone through in slices, so that
// no caller waits for a picture of a thousand plugins.
import type { PageHead, PageRows, PluginRow } from '../model/page-views.js';
import { capacityHistory, pluginHistory, startsOf } from './history.js';
import { needsOf } from './needs.js';
import type { PageSource } from './ports.js';

/** Rows between two pauses. */
const SLICE = 12;
const LISTS = ['plugins', 'resources', 'limits', 'leases'] as const satisfies readonly (keyof PageRows)[];
const HEADS = [
  'broker',
  'checkpoint',
  'policy',
  'ledger',
  'refused',
  'needs',
] as const satisfies readonly (keyof PageHead)[];

/** What a picture is made with. */
export interface PicturePorts {
  readonly source: PageSource;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Resolves when others have had their turn. */
  readonly nextTurn: () => Promise<void>;
}

/** One view of the broker that is kept up to date by `refresh`. */
export class Picture {
  readonly #ports: PicturePorts;
  readonly #lists = new Map<keyof PageRows, Map<string, string>>();
  readonly #heads = new Map<keyof PageHead, string>();
  #refreshing: Promise<unknown> = Promise.resolve();

  constructor(ports: PicturePorts) {
    this.#ports = ports;
  }

  /** Looks again. Resolves with the change as JSON (a PageChange), or undefined where nothing is new. One at a time. */
  refresh(): Promise<string | undefined> {
    const next = this.#refreshing.then(() => this.#refresh());
    this.#refreshing = next.catch(() => undefined);
    return next;
  }

  /** Everything as of the last refresh, as JSON (a PageSnapshot). */
  text(history: string): string {
    const heads = HEADS.map((name) => `"${name}":${this.#heads.get(name) ?? 'null'}`);
    const lists = LISTS.map((name) => `"${name}":[${[...(this.#lists.get(name)?.values() ?? [])].join(',')}]`);
    const place = `"place":${JSON.stringify(this.#ports.source.place)}`;
    return `{${[...this.#stamp(), place, ...heads, ...lists, `"history":${history}`].join(',')}}`;
  }

  /** The past of everything as JSON (a History). */
  async history(): Promise<string> {
    const { source, now, nextTurn } = this.#ports;
    const at = now();
    const primaries = new Map(source.plugins().map((plugin) => [keyOf(plugin), plugin] as const));
    for (const plugin of source.plugins()) if (plugin.primary) primaries.set(keyOf(plugin), plugin);
    const spans: string[] = [];
    for (const [key, plugin] of primaries) {
      spans.push(`${JSON.stringify(key)}:${JSON.stringify(pluginHistory(source.timeline(key), plugin, at))}`);
      if (spans.length % SLICE === 0) await nextTurn();
    }
    const capacity: string[] = [];
    for (const resource of source.resources()) {
      const steps = capacityHistory(source.timeline(resource.plugin), resource, at);
      capacity.push(`${JSON.stringify(resource.name)}:${JSON.stringify(steps)}`);
      if (capacity.length % SLICE === 0) await nextTurn();
    }
    const starts = JSON.stringify(startsOf(source.lives()));
    return `{"spans":{${spans.join(',')}},"capacity":{${capacity.join(',')}},"starts":${starts}}`;
  }

  async #refresh(): Promise<string | undefined> {
    const { source, now, nextTurn } = this.#ports;
    const changed: string[] = [];
    const removed: string[] = [];
    const rows = rowsOf(source);
    for (const name of LISTS) {
      const before = this.#lists.get(name) ?? new Map<string, string>();
      const after = new Map<string, string>();
      const fresh: string[] = [];
      for (const row of rows[name]) {
        const key = after.has(row.key) ? `${row.key} ${String(after.size)}` : row.key;
        const text = JSON.stringify(key === row.key ? row : { ...row, key });
        if (before.get(key) !== text) fresh.push(text);
        after.set(key, text);
        if (after.size % SLICE === 0) await nextTurn();
      }
      const lost = [...before.keys()].filter((key) => !after.has(key));
      this.#lists.set(name, after);
      if (fresh.length > 0) changed.push(`"${name}":[${fresh.join(',')}]`);
      if (lost.length > 0) removed.push(`"${name}":${JSON.stringify(lost)}`);
    }
    const head = source.head();
    const needs = needsOf({
      ...rows,
      place: source.place,
      head,
      recent: source.recent(),
      now: now(),
      why: (subject, plugins) => source.why(subject, plugins, source.timeline(subject)),
    });
    const { broker, checkpoint, policy, ledger, refused } = head;
    for (const [name, value] of Object.entries({ broker, checkpoint, policy, ledger, refused, needs })) {
      const text = JSON.stringify(value);
      if (this.#heads.get(name as keyof PageHead) === text) continue;
      this.#heads.set(name as keyof PageHead, text);
      changed.push(`"${name}":${text}`);
    }
    if (removed.length > 0) changed.push(`"removed":{${removed.join(',')}}`);
    return changed.length === 0 ? undefined : `{${[...this.#stamp(), ...changed].join(',')}}`;
  }

  #stamp(): string[] {
    const { source, now } = this.#ports;
    return [`"seq":${String(source.seq())}`, `"now":${JSON.stringify(new Date(now()).toISOString())}`];
  }
}

function rowsOf(source: PageSource): PageRows {
  const plugins = source.plugins().map((view): PluginRow => {
    const until = source.keptUntil(view);
    const keptUntil = until === undefined ? '' : new Date(until).toISOString();
    return { key: `${keyOf(view)} ${view.socket} ${view.registeredAt}`, ...view, keptUntil };
  });
  const resources = source.resources().map((view) => {
    // By name: the devices are decoded as soon as anybody touches them.
    const { name, plugin, state, capacity, allocatable, allocated, consumer, front } = view;
    return { key: name, name, plugin, state, capacity, allocatable, allocated, consumer, front };
  });
  const limits = source.limits().map((view) => ({
    key: `${view.limit} ${view.plugin} ${String(view.uid)}`,
    ...view,
  }));
  return { plugins, resources, limits, leases: source.leases() };
}

function keyOf({ type, name }: { readonly type: string; readonly name: string }): string {
  return `${type}/${name}`;
}
