// The whole picture as text, and what of it changed since it was looked at last. Rows are kept as the text they were sent
// as: comparing is comparing texts, and a snapshot is put together of them. All of it is made in slices, so that no call
// waits for a picture of a thousand plugins.
import { Buffer } from 'node:buffer';
import type { PageHead, PageRows } from '../model/page-views.js';
import type { LimitView, PluginView, ResourceView } from '../model/views.js';
import { capacityHistory, pluginHistory, startsOf } from './history.js';
import { needsOf, type NeedFacts } from './needs.js';
import type { PageSource } from './ports.js';

/** Rows that become bytes at once. */
const ROWS_AT_ONCE = 32;
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
  /** Called at each step of long work: undefined, or what to wait for so that others have their turn. */
  readonly rest: () => Promise<void> | undefined;
}

/** What a look found. */
interface Look {
  /** When it began, as it stands in what is sent. */
  readonly stamp: string;
  /** A PageChange as JSON; undefined where nothing is new. */
  readonly change: string | undefined;
  readonly plugins: readonly PluginView[];
  readonly resources: readonly ResourceView[];
}

/** One view of the broker that is kept up to date by looking again. One look at a time: the next waits. */
export class Picture {
  readonly #ports: PicturePorts;
  readonly #lists = new Map<keyof PageRows, Map<string, Kept<unknown>>>();
  readonly #heads = new Map<keyof PageHead, string>();
  #looking: Promise<unknown> = Promise.resolve();

  constructor(ports: PicturePorts) {
    this.#ports = ports;
  }

  /**
   * Looks again.
   *
   * @param told hears of the change, a PageChange as JSON, before anybody else looks; undefined: nothing is new
   * @param only the plugins (`type/name`) of which something was heard: others are as they were. Absent: all are looked at
   */
  refresh(told: (change: string | undefined) => void, only?: ReadonlySet<string>): Promise<void> {
    return this.#inTurn(async () => told((await this.#look(only)).change));
  }

  /** Looks again, and hands over everything as a PageSnapshot in JSON as well, after the change. */
  whole(told: (change: string | undefined, snapshot: Buffer) => void): Promise<void> {
    return this.#inTurn(async () => {
      const look = await this.#look();
      const snapshot = await this.#snapshot(look);
      told(look.change, snapshot);
    });
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#looking.then(work);
    this.#looking = done.catch(() => undefined);
    return done;
  }

  async #look(only?: ReadonlySet<string>): Promise<Look> {
    const { source, now } = this.#ports;
    const stamp = `"seq":${String(source.seq())},"now":${JSON.stringify(new Date(now()).toISOString())}`;
    const news: News = { changed: [], removed: [], only };
    const keptUntil = (plugin: PluginView): string => {
      const until = source.keptUntil(plugin);
      return until === undefined ? '' : new Date(until).toISOString();
    };
    const plugins = await this.#list('plugins', source.plugins(only), news, keyOf, (view) => {
      const kept = JSON.stringify(keptUntil(view));
      return [`${keyOf(view)} ${view.socket} ${view.registeredAt}`, `"keptUntil":${kept},${inside(view)}`];
    });
    const ofResource = (view: ResourceView): string => view.plugin;
    const resources = await this.#list('resources', source.resources(only), news, ofResource, (view) => {
      // By name: the devices are decoded as soon as anybody touches them.
      const { name, plugin, state, capacity, allocatable, allocated, consumer, front } = view;
      return [name, inside({ name, plugin, state, capacity, allocatable, allocated, consumer, front })];
    });
    const ofLimit = (view: LimitView): string => view.plugin;
    const limits = await this.#list('limits', source.limits(), news, ofLimit, (view) => {
      return [`${view.limit} ${view.plugin} ${String(view.uid)}`, inside(view)];
    });
    const ofNobody = (): string => '';
    const leases = await this.#list('leases', source.leases(), news, ofNobody, ({ key, ...lease }) => {
      return [key, inside(lease)];
    });
    await this.#ports.rest();
    this.#head(news, { plugins, resources, limits, leases, keptUntil });
    await this.#ports.rest();
    const { changed, removed } = news;
    if (removed.length > 0) changed.push(`"removed":{${removed.join(',')}}`);
    const change = changed.length === 0 ? undefined : `{${[stamp, ...changed].join(',')}}`;
    return { stamp, change, plugins, resources };
  }

  /** Looks at the rows of a list. Returns the views of all. */
  async #list<R>(
    name: keyof PageRows,
    rows: Iterable<R>,
    { changed, removed, only }: News,
    ownerOf: (row: R) => string,
    textOf: (row: R) => readonly [key: string, rest: string],
  ): Promise<readonly R[]> {
    const { rest } = this.#ports;
    const before = (this.#lists.get(name) ?? new Map<string, Kept<R>>()) as Map<string, Kept<R>>;
    const after = only === undefined ? new Map<string, Kept<R>>() : before;
    // What is nobody's is looked at in any case.
    const isWanted = (owner: string): boolean => only === undefined || owner === '' || only.has(owner);
    const seen = new Set<string>();
    const fresh: string[] = [];
    for (const view of rows) {
      const owner = ownerOf(view);
      if (!isWanted(owner)) continue;
      const [own, inner] = textOf(view);
      let key = own;
      for (let nth = 2; seen.has(key); nth += 1) key = `${own} ${String(nth)}`;
      seen.add(key);
      const text = `{"key":${JSON.stringify(key)},${inner}}`;
      if (before.get(key)?.text !== text) fresh.push(text);
      after.set(key, { view, owner, text });
      const others = rest();
      if (others !== undefined) await others;
    }
    const lost = [...before].filter(([key, { owner }]) => isWanted(owner) && !seen.has(key)).map(([key]) => key);
    for (const key of lost) after.delete(key);
    this.#lists.set(name, after);
    if (fresh.length > 0) changed.push(`"${name}":[${fresh.join(',')}]`);
    if (lost.length > 0) removed.push(`"${name}":${JSON.stringify(lost)}`);
    return [...after.values()].map(({ view }) => view);
  }

  #head({ changed }: News, rows: Pick<NeedFacts, 'plugins' | 'resources' | 'limits' | 'leases' | 'keptUntil'>): void {
    const { source, now } = this.#ports;
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
  }

  /** Everything as of a look that was the last one. */
  async #snapshot({ stamp, plugins, resources }: Look): Promise<Buffer> {
    const { source, rest } = this.#ports;
    const parts: Buffer[] = [];
    const add = (text: string): void => void parts.push(Buffer.from(text));
    const many = async (texts: readonly string[]): Promise<void> => {
      for (let at = 0; at < texts.length; at += ROWS_AT_ONCE) {
        add(`${at === 0 ? '' : ','}${texts.slice(at, at + ROWS_AT_ONCE).join(',')}`);
        const others = rest();
        if (others !== undefined) await others;
      }
    };
    const heads = HEADS.map((name) => `"${name}":${this.#heads.get(name) ?? 'null'}`);
    add(`{${[stamp, `"place":${JSON.stringify(source.place)}`, ...heads].join(',')}`);
    for (const name of LISTS) {
      add(`,"${name}":[`);
      await many([...(this.#lists.get(name)?.values() ?? [])].map(({ text }) => text));
      add(']');
    }
    add(',"history":{"spans":{');
    await many(await this.#spans(plugins));
    add('},"capacity":{');
    await many(await this.#capacity(resources));
    add(`},"starts":${JSON.stringify(startsOf(source.lives()))}}}`);
    return Buffer.concat(parts);
  }

  async #spans(plugins: readonly PluginView[]): Promise<string[]> {
    const { source, now, rest } = this.#ports;
    const at = now();
    const primaries = new Map<string, PluginView>();
    for (const plugin of plugins) {
      const key = keyOf(plugin);
      if (plugin.primary || !primaries.has(key)) primaries.set(key, plugin);
    }
    const spans: string[] = [];
    for (const [key, plugin] of primaries) {
      spans.push(`${JSON.stringify(key)}:${JSON.stringify(pluginHistory(source.timeline(key), plugin, at))}`);
      const others = rest();
      if (others !== undefined) await others;
    }
    return spans;
  }

  async #capacity(resources: readonly ResourceView[]): Promise<string[]> {
    const { source, now, rest } = this.#ports;
    const at = now();
    const capacity: string[] = [];
    for (const resource of resources) {
      const steps = capacityHistory(source.timeline(resource.plugin), resource, at);
      capacity.push(`${JSON.stringify(resource.name)}:${JSON.stringify(steps)}`);
      const others = rest();
      if (others !== undefined) await others;
    }
    return capacity;
  }
}

/** A row as it was seen last, whose it is (`type/name`, or empty), and the text it was sent as. */
interface Kept<R> {
  readonly view: R;
  readonly owner: string;
  readonly text: string;
}

/** What a look gathers, as JSON, and whom it is about; undefined: all. */
interface News {
  readonly only: ReadonlySet<string> | undefined;
  readonly changed: string[];
  readonly removed: string[];
}

/** An object as JSON, without its braces. */
function inside(row: object): string {
  return JSON.stringify(row).slice(1, -1);
}

function keyOf({ type, name }: { readonly type: string; readonly name: string }): string {
  return `${type}/${name}`;
}
