// The whole picture as text, and its changes since the last look. Rows are kept as the text they were sent as: comparing is
// comparing texts, and a snapshot is put together of pieces of which only those are made anew where a text changed. All of it is
// made in slices, so that no call waits for a picture of a thousand plugins.
import { Buffer } from 'node:buffer';
import type { Alarm } from '../kernel/clock.js';
import { pluginKey } from '../model/ids.js';
import type { PageHead, PageRows } from '../model/page-views.js';
import type { ListedResource, LimitView, PluginView } from '../model/views.js';
import { startsOf } from './history.js';
import { needsOf, type NeedFacts } from './needs.js';
import { overHttp } from './over-http.js';
import { Past } from './past.js';
import { Pieces } from './pieces.js';
import type { PicturePorts } from './ports.js';

const LISTS = ['plugins', 'resources', 'limits', 'leases'] as const satisfies readonly (keyof PageRows)[];
const HEADS = [
  'broker',
  'checkpoint',
  'policy',
  'ledger',
  'refused',
  'needs',
] as const satisfies readonly (keyof PageHead)[];

/** How long the picture is kept after the last look, in milliseconds: the next reader gets it with the news. */
const KEPT_MS = 60_000;

/** The result of a look. */
interface Look {
  /** When it began, as it stands in the message. */
  readonly stamp: string;
  readonly plugins: readonly PluginView[];
  readonly resources: readonly ListedResource[];
}

/**
 * One view of the broker for all readers, kept up to date by looking again at the plugins that an event named, and dropped when
 * nobody looks any more. One look at a time: the next waits.
 */
export class Picture {
  /** Is called with the result of each look, a PageChange as JSON, before any other reader. */
  onChange: (change: string) => void = () => undefined;
  readonly #ports: PicturePorts;
  readonly #lists = new Map<keyof PageRows, Map<string, Kept<unknown>>>();
  readonly #heads = new Map<keyof PageHead, string>();
  readonly #past: Past;
  readonly #pieces: Pieces;
  #looking: Promise<unknown> = Promise.resolve();
  /** The newest event that the last look knew; undefined: there is nothing to go on from. */
  #seq: number | undefined;
  #wholeAt = -Infinity;
  #letGo: Alarm | undefined;
  #isOver = false;

  constructor(ports: PicturePorts) {
    this.#ports = ports;
    this.#past = new Past(ports);
    this.#pieces = new Pieces(ports.rest);
  }

  /** When everything was looked at, on the clock's growing scale. */
  get wholeAt(): number {
    return this.#wholeAt;
  }

  /**
   * Looks again at the plugins that events named.
   *
   * @param mostAgeMs looks at everything when the last such look is longer ago: not all changes are reported by events
   */
  refresh(mostAgeMs: number): Promise<void> {
    return this.#inTurn(async () => {
      await this.#look(mostAgeMs);
    });
  }

  /**
   * The same, and hands over everything as a PageSnapshot in JSON, before anybody else looks: in pieces, each the same
   * object as the last time where nothing in it changed.
   */
  whole(told: (snapshot: readonly Buffer[]) => void, mostAgeMs: number): Promise<void> {
    return this.#inTurn(async () => told(await this.#snapshot(await this.#look(mostAgeMs))));
  }

  /** Keeps nothing any more. */
  close(): void {
    this.#isOver = true;
    this.#letGo?.cancel();
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#looking.then(work);
    this.#looking = done.then(
      () => this.#keep(),
      // A half-finished state is not to be built on.
      () => this.#forget(),
    );
    return done;
  }

  #keep(): void {
    const letGo = (): void => {
      this.#looking = this.#looking.then(() => this.#forget());
    };
    this.#letGo?.cancel();
    if (!this.#isOver) this.#letGo = this.#ports.clock.alarm(KEPT_MS, letGo);
  }

  #forget(): void {
    this.#seq = undefined;
    this.#wholeAt = -Infinity;
    for (const kept of [this.#lists, this.#heads, this.#past, this.#pieces]) kept.clear();
  }

  /** The plugins of which events told since the last look; undefined where that cannot be known. */
  #heard(): Set<string> | undefined {
    const { source } = this.#ports;
    const seen = this.#seq;
    if (seen === undefined) return undefined;
    const recent = source.recent();
    if ((recent[0]?.seq ?? 0) > seen + 1) return undefined;
    return new Set(recent.filter(({ seq }) => seq > seen).map(({ plugin }) => plugin));
  }

  async #look(mostAgeMs: number): Promise<Look> {
    const { source, clock } = this.#ports;
    const heard = this.#heard();
    const isWhole = heard === undefined || heard.has('') || clock.mono() - this.#wholeAt >= mostAgeMs;
    if (isWhole) this.#wholeAt = clock.mono();
    const only = isWhole ? undefined : heard;
    this.#seq = source.seq();
    const stamp = `"seq":${String(this.#seq)},"now":${JSON.stringify(new Date(clock.wall()).toISOString())}`;
    const news: News = { changed: [], removed: [], only, touched: new Set(heard) };
    const keptUntil = (plugin: PluginView): string => {
      const until = source.keptUntil(plugin);
      return until === undefined ? '' : new Date(until).toISOString();
    };
    const plugins = await this.#list('plugins', source.plugins(only), news, pluginKey, (view) => {
      const kept = JSON.stringify(keptUntil(view));
      return [`${pluginKey(view)} ${view.socket} ${view.registeredAt}`, `"keptUntil":${kept},${inside(view)}`];
    });
    const ofResource = (view: ListedResource): string => view.plugin;
    const resources = await this.#list('resources', source.resources(only), news, ofResource, (view) => {
      return [view.name, inside(view)];
    });
    this.#past.outdated(heard === undefined ? undefined : news.touched);
    const ofLimit = (view: LimitView): string => view.plugin;
    const limits = await this.#list('limits', source.limits(only), news, ofLimit, (view) => {
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
    if (changed.length > 0) this.onChange(`{${[stamp, ...changed].join(',')}}`);
    return { stamp, plugins, resources };
  }

  /** Looks at the rows of a list. Returns the views of all. */
  async #list<R>(
    name: keyof PageRows,
    rows: Iterable<R>,
    { changed, removed, only, touched }: News,
    ownerOf: (row: R) => string,
    textOf: (row: R) => readonly [key: string, rest: string],
  ): Promise<readonly R[]> {
    const { rest } = this.#ports;
    const before = (this.#lists.get(name) ?? new Map<string, Kept<R>>()) as Map<string, Kept<R>>;
    const after = only === undefined ? new Map<string, Kept<R>>() : before;
    // Rows without an owner are looked at in any case.
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
      const last = before.get(key);
      if (last?.text !== text) {
        fresh.push(text);
        touched.add(owner);
      }
      // The same object as before, where its text is equal: the next comparison is short, and this one is garbage at once.
      // Objects that outlive the next collection are copied by it, while everybody waits.
      after.set(key, last?.text === text ? last : { view, owner, text });
      const others = rest();
      if (others !== undefined) await others;
    }
    const lost: string[] = [];
    // Without a pair for each: the garbage of a look is collected while everybody waits.
    before.forEach(({ owner }, key) => {
      if (isWanted(owner) && !seen.has(key)) lost.push(key);
    });
    for (const key of lost) after.delete(key);
    this.#lists.set(name, after);
    if (fresh.length > 0) changed.push(`"${name}":[${fresh.join(',')}]`);
    if (lost.length > 0) removed.push(`"${name}":${JSON.stringify(lost)}`);
    const views: R[] = [];
    after.forEach(({ view }) => views.push(view));
    return views;
  }

  #head({ changed }: News, rows: Pick<NeedFacts, 'plugins' | 'resources' | 'limits' | 'leases' | 'keptUntil'>): void {
    const { source, clock } = this.#ports;
    const head = source.head();
    const needs = needsOf({
      ...rows,
      place: source.place,
      head,
      recent: source.recent(),
      now: clock.wall(),
      why: (subject, plugins) => source.why(subject, plugins, source.timeline(subject).map(overHttp)),
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
  async #snapshot({ stamp, plugins, resources }: Look): Promise<Buffer[]> {
    const { source } = this.#ports;
    const parts: Buffer[] = [];
    const heads = HEADS.map((name) => `"${name}":${this.#heads.get(name) ?? 'null'}`);
    let between = `{${[stamp, `"place":${JSON.stringify(source.place)}`, ...heads].join(',')}`;
    const add = async (name: string, open: string, texts: readonly string[], close: string): Promise<void> => {
      parts.push(Buffer.from(between + open), ...(await this.#pieces.of(name, texts)));
      between = close;
    };
    for (const name of LISTS) {
      await add(
        name,
        `,"${name}":[`,
        [...(this.#lists.get(name)?.values() ?? [])].map(({ text }) => text),
        ']',
      );
    }
    await add('spans', ',"history":{"spans":{', await this.#past.spans(plugins), '}');
    await add('capacity', ',"capacity":{', await this.#past.capacity(resources), '}');
    return [...parts, Buffer.from(`${between},"starts":${JSON.stringify(startsOf(source.lives()))}}}`)];
  }
}

/** A row as it was seen last, its owner (`type/name`, or empty), and the text it was sent as. */
interface Kept<R> {
  readonly view: R;
  readonly owner: string;
  readonly text: string;
}

/** The results of a look, as JSON, and their owners; undefined: all. */
interface News {
  readonly only: ReadonlySet<string> | undefined;
  readonly changed: string[];
  readonly removed: string[];
  /** Those of which something is new. */
  readonly touched: Set<string>;
}

/** An object as JSON, without its braces. */
function inside(row: object): string {
  return JSON.stringify(row).slice(1, -1);
}
