// The drawings of the past, as they were sent last: made anew only for plugins with news.
import { pluginKey } from '../model/ids.js';
import type { PluginView, ResourceView } from '../model/views.js';
import { capacityHistory, pluginHistory } from './history.js';
import type { PicturePorts } from './ports.js';

/** Bars and lines are made anew after this, milliseconds: parts older than their span are left out. */
const PAST_MS = 60_000;

/** Bars of plugins and lines of resources, as fields of an object in JSON. */
export class Past {
  readonly #ports: PicturePorts;
  readonly #spans = new Map<string, Drawn>();
  readonly #capacity = new Map<string, Drawn>();
  #madeAt = -Infinity;

  constructor(ports: PicturePorts) {
    this.#ports = ports;
  }

  /** Keeps nothing. */
  clear(): void {
    this.#spans.clear();
    this.#capacity.clear();
  }

  /** The drawings of these plugins (`type/name`) are made anew when they are wanted; undefined: of all. */
  outdated(owners: ReadonlySet<string> | undefined): void {
    const now = this.#ports.clock.mono();
    const isOld = now - this.#madeAt >= PAST_MS;
    if (isOld) this.#madeAt = now;
    for (const kept of [this.#spans, this.#capacity]) {
      for (const [key, { owner }] of kept) if (isOld || owners?.has(owner) !== false) kept.delete(key);
    }
  }

  /** States and calls of each plugin, by `type/name`. */
  async spans(plugins: readonly PluginView[]): Promise<string[]> {
    const primaries = new Map<string, PluginView>();
    for (const plugin of plugins) {
      const key = pluginKey(plugin);
      if (plugin.primary || !primaries.has(key)) primaries.set(key, plugin);
    }
    const { source, clock } = this.#ports;
    const made = (plugin: PluginView, key: string): unknown =>
      pluginHistory(source.timeline(key), plugin, clock.wall());
    return this.#drawn(this.#spans, primaries.values(), pluginKey, pluginKey, made);
  }

  /** Devices of each resource, by name. */
  capacity(resources: readonly WithoutDevices[]): Promise<string[]> {
    const { source, clock } = this.#ports;
    const keyOf = ({ name }: WithoutDevices): string => name;
    const ownerOf = ({ plugin }: WithoutDevices): string => plugin;
    const made = (resource: WithoutDevices): unknown =>
      capacityHistory(source.timeline(resource.plugin), resource, clock.wall());
    return this.#drawn(this.#capacity, resources, keyOf, ownerOf, made);
  }

  /** Pictures of the past, as fields of an object in JSON. Of rows that are known nothing is made. */
  async #drawn<R>(
    kept: Map<string, Drawn>,
    rows: Iterable<R>,
    keyOf: (row: R) => string,
    ownerOf: (row: R) => string,
    made: (row: R, key: string) => unknown,
  ): Promise<string[]> {
    const { rest } = this.#ports;
    const texts: string[] = [];
    for (const row of rows) {
      const key = keyOf(row);
      const owner = ownerOf(row);
      let drawn = kept.get(key);
      if (drawn?.owner !== owner) {
        drawn = { owner, text: `${JSON.stringify(key)}:${JSON.stringify(made(row, key))}` };
        kept.set(key, drawn);
      }
      texts.push(drawn.text);
      const others = rest();
      if (others !== undefined) await others;
    }
    return texts;
  }
}

type WithoutDevices = Omit<ResourceView, 'devices'>;

/** The drawing of one plugin or resource, as it was sent, and its owner. */
interface Drawn {
  readonly owner: string;
  readonly text: string;
}
