// One broker and one plugin with everything a scenario does to them.
import { rmSync } from 'node:fs';
import { DEVICE_PLUGIN, pluginKey } from '../model/ids.js';
import type { Door } from '../model/plugin.js';
import type { PluginPicture } from '../model/fault-port.js';
import type { BrokerProcess, BrokerStart } from './broker-process.js';
import type { Changes } from './changes.js';
import { removePluginSockets, type Places } from './places.js';
import type { Subject } from './subject.js';
import { Failed, Skipped } from './verdict.js';
import { whyNot } from './why-not.js';
import type { Mark, Witness } from './witness.js';

/** A plugin that was started comes up within this (contract 13, first-list). */
export const COME_UP_MS = 10_000;
/** One that runs already is waited for: its author may be about to start it. */
const ATTACH_MS = 60_000;
/** After it came up it is left alone for this long, before something is done to it. */
const SETTLE_MS = 500;
/** Registrations of a plugin with many resources follow each other; after this long without a new one all are there. */
const QUIET_MS = 1_000;

/** What is known of a plugin before a scenario: it came up once. */
export interface Known {
  readonly door: Door;
  /** `type/name` of everything it registers. */
  readonly keys: ReadonlySet<string>;
}

/** What a rig is made of. */
export interface RigParts {
  readonly places: Places;
  readonly changes: Changes;
  readonly witness: Witness;
  readonly broker: BrokerProcess;
  readonly subject: Subject;
  /** Starts the plugin's command a second time in the same places; undefined for one that runs already. */
  readonly second: (() => Subject) | undefined;
  /** The plugin sees the kubelet's directories where they are built in. */
  readonly isBound: boolean;
  readonly known: Known | undefined;
}

/** A rig. All times are milliseconds. */
export class Rig {
  readonly places: Places;
  readonly changes: Changes;
  readonly witness: Witness;
  readonly broker: BrokerProcess;
  readonly subject: Subject;
  readonly second: (() => Subject) | undefined;
  readonly #parts: RigParts;
  #known: Known | undefined;

  constructor(parts: RigParts) {
    this.#parts = parts;
    this.places = parts.places;
    this.changes = parts.changes;
    this.witness = parts.witness;
    this.broker = parts.broker;
    this.subject = parts.subject;
    this.second = parts.second;
    this.#known = parts.known;
  }

  /** What is known of the plugin; before it came up once, nothing. */
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
    return this.known.door === 'register' ? this.places.devicePlugins : this.places.registry;
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
   * One that runs already gets the cues of a kubelet that starts.
   */
  async arrive(start: BrokerStart = {}): Promise<void> {
    await this.clear();
    await this.startBroker(start);
    this.subject.start();
  }

  /** Stops both and removes what they left behind: the checkpoint, plugin sockets, kubelet.sock. */
  async clear(): Promise<void> {
    await this.broker.stop();
    await this.subject.stop();
    rmSync(this.places.state, { recursive: true, force: true });
    removePluginSockets(this.places, true);
  }

  /**
   * Starts what does not run, and waits until everything the plugin registers is served.
   *
   * @returns how long that took from the plugin's start, or from now for one that runs already
   * @throws Failed with the reason when it is not
   */
  async comeUp(): Promise<number> {
    const from = Date.now();
    if (!this.broker.isRunning) await this.startBroker();
    if (this.subject.startedAt === undefined) this.subject.start();
    const limit = this.subject.isOurs || this.#known !== undefined ? COME_UP_MS : ATTACH_MS;
    await this.served(limit);
    const tookMs = Date.now() - (this.subject.startedAt ?? from);
    if (this.#known === undefined && this.isServed()) await this.#learn();
    // What ended meanwhile is started again, or has detached: only then it is known whom we see.
    await this.changes.until(() => !this.subject.isBetweenLives, limit);
    if (this.subject.problem !== undefined) throw new Failed(this.subject.problem);
    if (!this.isServed()) {
      if (!this.subject.isOurs && this.#known !== undefined) {
        throw new Skipped('it was not there any more after the scenario before; start it again and run this one alone');
      }
      throw new Failed(whyNot({ ...this.#parts, plugins: this.plugins, expected: this.#expected }, limit));
    }
    // It has its answer, its first list is on disk, and what it starts last is started.
    await this.pass(SETTLE_MS);
    return tookMs;
  }

  /** Whether everything that is expected is served now; before anything is known, whether something is. */
  isServed(): boolean {
    const served = this.plugins.filter(isServed).length;
    return served > 0 && served >= this.#expected.size;
  }

  /** Waits until everything is served. @returns whether it is, within the time */
  async served(withinMs: number): Promise<boolean> {
    const found = await this.changes.until(
      () => this.subject.problem !== undefined || this.isServed(),
      Math.max(0, withinMs),
    );
    return found !== undefined && this.isServed();
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

  /** Takes what is served for all there is, once nothing new came for a while. */
  async #learn(): Promise<void> {
    for (let before = -1; before !== this.witness.plugins.length;) {
      before = this.witness.plugins.length;
      await this.pass(QUIET_MS);
    }
    const served = this.witness.plugins.filter(isServed);
    const [first] = served;
    if (first !== undefined) this.#known = { door: first.door, keys: new Set(served.map(pluginKey)) };
  }
}

function isServed({ type, state, allocatable, isListed }: PluginPicture): boolean {
  return state === 'ready' && (type !== DEVICE_PLUGIN || (isListed && allocatable > 0));
}
