// One broker and one plugin with everything a scenario does to them.
import { DEVICE_PLUGIN, incarnationKey, pluginKey } from '../model/ids.js';
import type { Door } from '../model/plugin.js';
import type { PluginPicture } from '../model/fault-port.js';
import { removeTree } from '../platform/fs/remove-tree.js';
import { incarnationAt } from '../platform/fs/socket-pin.js';
import type { BrokerProcess, BrokerStart } from './broker-process.js';
import type { Changes } from './changes.js';
import type { Directories } from './directories.js';
import { whyUnsettled } from './quiet.js';
import { removePluginSockets } from './sockets.js';
import type { Subject } from './subject.js';
import { Failed, Skipped, type Passed } from './verdict.js';
import { whyNot } from './why-not.js';
import type { Mark, Witness } from './witness.js';

/** A plugin that was started comes up within this (scenario first-list). */
export const COME_UP_MS = 10_000;
/** One that runs already is waited for: its author may be about to start it. */
const ATTACH_MS = 60_000;
/** After it came up it is left alone until it was quiet for this long, before something is done to it. */
const SETTLE_MS = 500;
/** Rules of this broker that serve a plugin of which a kubelet would have lost sight, by the reason that tells of them. */
const SAVING_REASONS: ReadonlyMap<string, string> = new Map([
  ['recycled', 'recycle: the broker removed its socket, so that it registered afresh'],
  ['list-unwatched', 'probe: the broker keeps the last list, and changes of health do not arrive'],
]);

/** The behaviour by which a plugin is judged: that of this broker, or only a real kubelet's. */
export type Profile = 'broker' | 'kubelet';
/** Registrations of a plugin with many resources follow each other; after this long without a new one all are there. */
const QUIET_MS = 1_000;

/** The facts about a plugin before a scenario: it came up once. */
export interface Known {
  readonly door: Door;
  /** `type/name` of everything it registers. */
  readonly keys: ReadonlySet<string>;
}

/** The parts of a rig. */
export interface RigParts {
  readonly directories: Directories;
  readonly changes: Changes;
  readonly witness: Witness;
  readonly broker: BrokerProcess;
  readonly subject: Subject;
  /** Starts the plugin's command a second time in the same directories; undefined for one that runs already. */
  readonly second: (() => Subject) | undefined;
  /** The plugin sees the kubelet's directories where they are built in. */
  readonly isBound: boolean;
  readonly profile: Profile;
  readonly known: Known | undefined;
}

/** A rig. All times are milliseconds. */
export class Rig {
  readonly directories: Directories;
  readonly changes: Changes;
  readonly witness: Witness;
  readonly broker: BrokerProcess;
  readonly subject: Subject;
  readonly second: (() => Subject) | undefined;
  readonly profile: Profile;
  readonly #parts: RigParts;
  #known: Known | undefined;

  constructor(parts: RigParts) {
    this.#parts = parts;
    this.directories = parts.directories;
    this.changes = parts.changes;
    this.witness = parts.witness;
    this.broker = parts.broker;
    this.subject = parts.subject;
    this.second = parts.second;
    this.profile = parts.profile;
    this.#known = parts.known;
  }

  /** The facts about the plugin; before it came up once, none. */
  get known(): Known {
    if (this.#known === undefined) throw new Error('asked about a plugin that never came up');
    return this.#known;
  }

  /** The plugins that are expected, as they are now; those that are missing are missing here. */
  get plugins(): readonly PluginPicture[] {
    const { plugins } = this.witness;
    return this.#known === undefined ? plugins : plugins.filter((plugin) => this.#expected.has(pluginKey(plugin)));
  }

  /** The directory in which the plugin's registering sockets are. */
  get doorDirectory(): string {
    return this.known.door === 'register' ? this.directories.devicePlugins : this.directories.registry;
  }

  /** Starts the broker. @returns when plugins could come in */
  async startBroker(start: BrokerStart = {}): Promise<number> {
    this.witness.newLife();
    const openedAt = await this.broker.start(start);
    this.note('the broker serves');
    return openedAt;
  }

  /** Stops the broker as an operator does. */
  async stopBroker(): Promise<void> {
    await this.broker.stop();
    this.note('stopped the broker');
  }

  /**
   * Starts broker and plugin from nothing, the broker with faults, so that they meet the plugin's first registration.
   * One that runs already sees the registry events of a kubelet that starts.
   */
  async arrive(start: BrokerStart = {}): Promise<void> {
    await this.clear();
    await this.startBroker(start);
    this.subject.start();
  }

  /** Stops both and removes the files they left: the checkpoint, plugin sockets, kubelet.sock. */
  async clear(): Promise<void> {
    await this.broker.stop();
    await this.subject.stop();
    removeTree(this.directories.state);
    removePluginSockets(this.directories, true);
  }

  /**
   * Starts the stopped ones, and waits until everything the plugin registers is served.
   *
   * @param quietMs nothing may happen to it by itself for so long, before it is taken for settled
   * @returns how long that took from the plugin's start, or from now for one that runs already
   * @throws Failed with the reason when it is not; Skipped when it was settled before and is not any more
   */
  async comeUp(quietMs = SETTLE_MS): Promise<number> {
    const from = Date.now();
    if (!this.broker.isRunning) await this.startBroker();
    if (this.subject.startedAt === undefined) this.subject.start();
    const limit = this.subject.isOurs || this.#known !== undefined ? COME_UP_MS : ATTACH_MS;
    await this.served(limit);
    const tookMs = Date.now() - (this.subject.startedAt ?? from);
    const isNew = this.#known === undefined && this.isServed();
    if (isNew) await this.#learn();
    // A process that ended meanwhile is started again, or has detached: only then the plugin's process is known.
    await this.changes.until(() => !this.subject.isBetweenLives, limit);
    // A resource that was served once and is not at this instant comes and goes: it is waited for, and the scenario judges it.
    if (isNew) await this.served(limit);
    if (this.subject.problem !== undefined) throw new Failed('never-back', this.subject.problem);
    if (!this.isServed()) {
      if (!this.subject.isOurs && this.#known !== undefined) {
        throw new Skipped('it was not there any more after the scenario before; start it again and run this one alone');
      }
      throw whyNot({ ...this.#parts, plugins: this.plugins, expected: this.#expected }, limit);
    }
    // It has its answer, its first list is on disk, and its last part is started.
    const isFirst = quietMs > SETTLE_MS;
    const unsettled = await whyUnsettled(this, quietMs);
    if (unsettled === undefined) return tookMs;
    if (isFirst) throw new Failed('unsettled', unsettled);
    throw new Skipped(`it was not quiet before anything was done to it: ${unsettled}`, 'unsettled');
  }

  /** Whether everything that is expected is served now; before anything is known, whether something is. */
  isServed(): boolean {
    const served = this.plugins.filter(isServed).length;
    return served > 0 && served >= this.#expected.size;
  }

  /** Waits until everything is served. @returns whether it is, within the time */
  async served(withinMs: number): Promise<boolean> {
    const untilMs = Date.now() + Math.max(0, withinMs);
    for (;;) {
      const found = await this.changes.until(
        () => this.subject.problem !== undefined || this.isServed(),
        Math.max(0, untilMs - Date.now()),
      );
      // A resource that was served for an instant, and is not by the time of the look, is waited for further.
      if (found === undefined || this.subject.problem !== undefined || this.isServed()) break;
    }
    return this.isServed();
  }

  /** Whether each of these is served now by another socket than the one it had then. */
  isRenewed(before: readonly PluginPicture[]): boolean {
    const renewed = before.filter((old) =>
      this.plugins.some((now) => pluginKey(now) === pluginKey(old) && now.incarnation !== old.incarnation),
    );
    return renewed.length === before.length && this.isServed();
  }

  /** Whether devices of an expected plugin were ever gone since a mark; its name, or undefined. */
  dippedSince(mark: Mark): string | undefined {
    for (const { plugins } of this.witness.picturesSince(mark)) {
      for (const key of this.known.keys) {
        const plugin = plugins.find((one) => pluginKey(one) === key);
        if (plugin === undefined || (plugin.type === DEVICE_PLUGIN && plugin.allocatable === 0)) return key;
      }
    }
    return undefined;
  }

  /** Whether the plugin is about devices; otherwise it is a driver. */
  get hasDevices(): boolean {
    return this.plugins.some(({ type }) => type === DEVICE_PLUGIN);
  }

  /** The resources that were there all the time, or gone, in the words for the plugin's type. */
  get goods(): string {
    return this.hasDevices ? 'its devices were' : 'it was';
  }

  /** The rule of this broker without which a kubelet would have lost the plugin since a mark; undefined for none. */
  savedSince(mark: Mark): string | undefined {
    for (const { plugins } of this.witness.picturesSince(mark)) {
      for (const plugin of plugins) {
        const rule = this.known.keys.has(pluginKey(plugin)) ? SAVING_REASONS.get(plugin.reason) : undefined;
        if (rule !== undefined) return rule;
      }
    }
    return undefined;
  }

  /** Evidence of the time since a mark, with a word about the rule that helped. */
  passed(evidence: string, mark: Mark): Passed {
    const rule = this.savedSince(mark);
    if (rule === undefined) return { code: 'ok', evidence };
    return { code: 'saved-by-broker', evidence: `${evidence}; a rule of the broker saved it (${rule})` };
  }

  /** Expected plugins whose socket is not where it registered it any more, so that the next registry cannot find them. */
  lostSockets(): readonly string[] {
    return this.plugins
      .filter(({ socket, incarnation }) => {
        const now = incarnationAt(socket);
        return now === undefined || incarnationKey(now) !== incarnation;
      })
      .map(({ name }) => name);
  }

  /** How many different lists of one plugin counted since a mark, by the number of their devices. */
  countsSince(mark: Mark): number {
    return Math.max(0, ...[...this.known.keys].map((key) => this.#listsOf(key, mark)));
  }

  #listsOf(key: string, mark: Mark): number {
    let last = '';
    let lists = 0;
    for (const { plugins } of this.witness.picturesSince(mark)) {
      const plugin = plugins.find((one) => pluginKey(one) === key && one.state === 'ready' && one.isListed);
      const text = plugin === undefined ? last : `${plugin.capacity}/${plugin.allocatable}`;
      if (text !== last) lists += 1;
      last = text;
    }
    return lists;
  }

  /** The most calls that one plugin made since a mark. */
  mostCallsSince(mark: Mark): number {
    return Math.max(0, ...[...this.known.keys].map((key) => this.witness.callsSince(mark, key).length));
  }

  /** Lets time pass. */
  async pass(ms: number): Promise<void> {
    await this.changes.pass(ms);
  }

  /** A line of the timeline. */
  note(what: string): void {
    this.witness.note('verify', what);
  }

  get #expected(): ReadonlySet<string> {
    return this.#known?.keys ?? new Set();
  }

  /** Learns the plugin's resources: those served until nothing new came for a while. */
  async #learn(): Promise<void> {
    const served = new Map<string, PluginPicture>();
    const look = (): void => {
      for (const plugin of this.witness.plugins) if (isServed(plugin)) served.set(pluginKey(plugin), plugin);
    };
    look();
    for (let before = -1; before !== this.witness.plugins.length;) {
      before = this.witness.plugins.length;
      await this.pass(QUIET_MS);
      look();
    }
    const [first] = served.values();
    if (first !== undefined) this.#known = { door: first.door, keys: new Set(served.keys()) };
  }
}

function isServed({ type, state, allocatable, isListed }: PluginPicture): boolean {
  return state === 'ready' && (type !== DEVICE_PLUGIN || (isListed && allocatable > 0));
}
