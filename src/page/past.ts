// What is drawn of the past, as it was sent last: made anew only for those of whom something is new.
import { pluginKey } from '../model/ids.js';
import type { PluginView, ResourceView } from '../model/views.js';
import { capacityHistory, pluginHistory } from './history.js';
import type { PicturePorts } from './ports.js';

/** Bars and lines are made anew after this, milliseconds: what is older than they go back is left out of them. */
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

  /** What is drawn of these plugins (`type/name`) is made anew when it is wanted; undefined: of all. */
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
    const made = (key: string, plugin: PluginView): unknown =>
      pluginHistory(source.timeline(key), plugin, clock.wall());
    return this.#drawn(
      this.#spans,
      [...primaries].map(([key, plugin]) => ({ key, owner: key, make: () => made(key, plugin) })),
    );
  }

  /** Devices of each resource, by name. */
  capacity(resources: readonly Omit<ResourceView, 'devices'>[]): Promise<string[]> {
    const { source, clock } = this.#ports;
    const made = (resource: Omit<ResourceView, 'devices'>): unknown =>
      capacityHistory(source.timeline(resource.plugin), resource, clock.wall());
    return this.#drawn(
      this.#capacity,
      resources.map((resource) => ({ key: resource.name, owner: resource.plugin, make: () => made(resource) })),
    );
  }

  /** Pictures of the past, as fields of an object in JSON. */
  async #drawn(
    kept: Map<string, Drawn>,
    rows: readonly { readonly key: string; readonly owner: string; readonly make: () => unknown }[],
  ): Promise<string[]> {
    const { rest } = this.#ports;
    const texts: string[] = [];
    for (const { key, owner, make } of rows) {
      const text = kept.get(key)?.text ?? `${JSON.stringify(key)}:${JSON.stringify(make())}`;
      kept.set(key, { owner, text });
      texts.push(text);
      const others = rest();
      if (others !== undefined) await others;
    }
    return texts;
  }
}

/** What is drawn of one plugin or resource, as it was sent, and whose it is. */
interface Drawn {
  readonly owner: string;
  readonly text: string;
}
