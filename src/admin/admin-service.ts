// The admin commands: they find the plugin that the operator names, check that the order can be done, and ask the rest of the
// broker.
import { counted } from '../kernel/counted.js';
import type { BrokerEvent, EventQuery } from '../model/event.js';
import { DEVICE_PLUGIN, pluginKey, type PluginId } from '../model/ids.js';
import type { ExplainView, LimitView, PluginView, ReloadView } from '../model/views.js';
import type { AdminPort, ShownStatus } from './admin-port.js';
import { answer, problem, type Answer } from '../model/answer.js';
import { explain } from './explain.js';
import { WITH_NAMES, type LeaseWords } from './lease-words.js';
import type { ShownResource } from './plugin-views.js';
import { useSentences } from './use-sentences.js';
import { isMeant, resolvePlugin, splitPluginKey, unknownName } from './plugin-names.js';

/** States in which a plugin's entry may be dropped: nothing is connected, and nothing is being kept out. */
const FORGETTABLE: ReadonlySet<string> = new Set(['held', 'gone', 'rejected']);

/** Answers the calls of the admin socket. Names are `name` or `type/name`; an empty name means all. */
export class AdminService {
  readonly #port: AdminPort;

  constructor(port: AdminPort) {
    this.#port = port;
  }

  /** The whole picture. */
  status(): ShownStatus {
    return this.#port.status();
  }

  /** Plugins of a name; NOT_FOUND when there are none. */
  plugins(name: string): Answer<readonly PluginView[]> {
    const all = this.#port.plugins();
    if (name === '') return answer(all);
    const meant = all.filter((plugin) => isMeant(name, plugin));
    return meant.length > 0 ? answer(meant) : { ok: false, problem: unknownName('plugin', name, '', all) };
  }

  /** The resource of a name; NOT_FOUND when there is none. */
  resources(name: string): Answer<readonly ShownResource[]> {
    const all = this.#port.resources();
    if (name === '') return answer(all);
    const meant = all.filter((resource) => resource.name === name);
    if (meant.length > 0) return answer(meant);
    const known = all.map((resource) => ({ type: '', name: resource.name }));
    return { ok: false, problem: unknownName('resource', name, '', known) };
  }

  /** Buckets of a plugin, none when it has not spent any; NOT_FOUND when nobody has that name. */
  limits(name: string): Answer<readonly LimitView[]> {
    const all = this.#port.limits();
    if (name === '') return answer(all);
    const meant = all.filter((limit) => isMeant(name, splitPluginKey(limit.plugin)));
    const known = this.#known(all);
    if (meant.length > 0 || known.some((plugin) => isMeant(name, plugin))) return answer(meant);
    return { ok: false, problem: unknownName('plugin', name, '', known) };
  }

  /** The events of one plugin or of all. */
  async *events(query: EventQuery & { readonly plugin: string }, signal: AbortSignal): AsyncGenerator<BrokerEvent> {
    if (query.plugin !== '' && !query.follow) {
      // Not those of all plugins: they are many, and this is asked over HTTP, too.
      const meant = [...this.#port.told()].filter((key) => isMeant(query.plugin, splitPluginKey(key)));
      const kept = meant.flatMap((key) => this.#port.eventsOf(key));
      yield* kept.filter(({ seq }) => seq >= query.since).sort((a, b) => a.seq - b.seq);
      return;
    }
    for await (const event of this.#port.events({ since: query.since, follow: query.follow }, signal)) {
      if (query.plugin === '' || isMeant(query.plugin, splitPluginKey(event.plugin))) yield event;
    }
  }

  /**
   * The timeline of a plugin, or of a socket when `subject` is an absolute path, with the cause and the remedy. A plugin that was
   * only ever refused has no entry, but events.
   *
   * @param words the words for leases; with the names of owners unless said
   */
  async explain(subject: string, type: string, words: LeaseWords = WITH_NAMES): Promise<Answer<ExplainView>> {
    const entries = [...this.#port.entries()];
    if (subject.startsWith('/')) {
      const isThere = ({ socket, endpoint }: Pick<PluginView, 'socket' | 'endpoint'>): boolean =>
        socket === subject || endpoint === subject;
      const events = (await this.#port.eventsAt(subject)).map(words.event);
      const plugins = this.#port.plugins(new Set(entries.filter(isThere).map(pluginKey)));
      const view = explain(subject, plugins.filter(isThere), events);
      const unseen = `nothing was ever seen at ${subject}; \`plugin-broker doctor\` says which directories are watched`;
      return view === undefined ? problem('NOT_FOUND', unseen) : answer(view);
    }
    const resolved = resolvePlugin(subject, type, [...entries, ...[...this.#port.told()].map(splitPluginKey)]);
    if (!resolved.ok) return resolved;
    const key = pluginKey(resolved.value);
    const view = explain(
      key,
      this.#port.plugins(new Set([key])),
      this.#port.eventsOf(key).map(words.event),
      resolved.value.type === DEVICE_PLUGIN ? useSentences(resolved.value.name, this.#port.use, words.holder) : [],
    );
    return view === undefined ? problem('NOT_FOUND', `nothing is known about ${key}`) : answer(view);
  }

  /**
   * Declares that no device of unknown ownership is in use; FAILED_PRECONDITION while all owners are known, or none can
   * be.
   */
  async resetLedger(): Promise<Answer<string>> {
    const before = await this.#port.resetLedger();
    if (before === undefined)
      return problem('FAILED_PRECONDITION', 'the ledger is in order: release single leases instead');
    if (before === 'unread') {
      return problem(
        'FAILED_PRECONDITION',
        'the checkpoint was not read, so that nothing can be written to it; `plugin-broker status` says why',
      );
    }
    return this.#done(`the ledger was ${before}; it begins anew, and devices are given out`);
  }

  /** Reads the config file again; FAILED_PRECONDITION while the broker starts. */
  async reload(): Promise<Answer<ReloadView>> {
    const view = await this.#port.reload();
    return view === undefined ? problem('FAILED_PRECONDITION', 'the broker is starting; try again') : answer(view);
  }

  /** Lifts a quarantine. */
  async pardon(name: string, type: string): Promise<Answer<string>> {
    const plugin = resolvePlugin(name, type, this.#known(this.#port.limits()));
    if (!plugin.ok) return plugin;
    const touched = await this.#port.pardon(plugin.value);
    const key = pluginKey(plugin.value);
    if (touched === 0) return answer(`${key} had no strikes and no quarantine`);
    return this.#done(`${key} is pardoned and may register again`);
  }

  /** Closes the present incarnations of a plugin and keeps them out; FAILED_PRECONDITION while it has leases, without `force`. */
  async deregister(name: string, type: string, force = false): Promise<Answer<string>> {
    const plugin = resolvePlugin(name, type, this.#port.plugins());
    if (!plugin.ok) return plugin;
    const held = force ? undefined : this.#inLeases(plugin.value);
    if (held !== undefined) return held;
    const touched = await this.#port.deregister(plugin.value);
    const key = pluginKey(plugin.value);
    if (touched === 0) return problem('NOT_FOUND', `${key} went away in the meantime`);
    return this.#done(`${key} is deregistered and stays out until it comes with a new socket`);
  }

  /** Drops the entries of a plugin that is lost; FAILED_PRECONDITION while it is not, or has leases, without `force`. */
  async forget(name: string, type: string, force = false): Promise<Answer<string>> {
    const all = this.#port.plugins();
    const plugin = resolvePlugin(name, type, all);
    if (!plugin.ok) return plugin;
    const key = pluginKey(plugin.value);
    const entries = all.filter((entry) => pluginKey(entry) === key);
    if (!entries.some((entry) => FORGETTABLE.has(entry.state))) {
      const states = [...new Set(entries.map((entry) => entry.state))].join(' and ');
      const remedy = `only held, gone or rejected entries can be forgotten; \`plugin-broker deregister\` closes a living one`;
      return problem('FAILED_PRECONDITION', `${key} is ${states}; ${remedy}`);
    }
    const held = force ? undefined : this.#inLeases(plugin.value);
    if (held !== undefined) return held;
    const resource = this.#port.resources().find(({ plugin: of }) => of === key);
    const touched = await this.#port.forget(plugin.value);
    if (touched === 0) return problem('NOT_FOUND', `${key} went away in the meantime`);
    const dropped = entries
      .filter(({ state }) => FORGETTABLE.has(state))
      .map(({ state, socket }) => `${state} at ${socket}`);
    const isLast = dropped.length === entries.length;
    const devices =
      resource === undefined || !isLast ? '' : `, and its resource with ${String(resource.capacity)} devices`;
    return this.#done(`${key} is forgotten: ${dropped.join('; ')}${devices}`);
  }

  /** The answer to an order that was carried out: a disk that takes nothing refuses none. */
  async #done(sentence: string): Promise<Answer<string>> {
    if (await this.#port.isWritten()) return answer(sentence);
    return answer(
      `${sentence}; that could not be written to the disk in time: a broker that is killed before it is does not know of it; see \`plugin-broker status\``,
    );
  }

  /** Devices of a plugin that are in use are no reason to refuse for ever, but one to think twice. */
  #inLeases(plugin: PluginId): Answer<string> | undefined {
    if (plugin.type !== DEVICE_PLUGIN) return undefined;
    const allocated = this.#port.use.takenOf(plugin.name).size;
    if (allocated === 0) return undefined;
    const remedy =
      'release them (`plugin-broker allocations` shows who has what), or say --force: their owners keep them';
    const inUse = `${counted(allocated, 'device')} of ${plugin.name} ${allocated === 1 ? 'is' : 'are'} in use`;
    return problem('FAILED_PRECONDITION', `${inUse}; ${remedy}`);
  }

  /** Everybody a pardon can be meant for: those with an entry, and those with nothing but strikes. */
  #known(limits: readonly LimitView[]): readonly PluginId[] {
    const counted = limits.filter((limit) => limit.plugin !== '').map((limit) => splitPluginKey(limit.plugin));
    return [...this.#port.plugins(), ...counted];
  }
}
