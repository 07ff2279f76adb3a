// Between the actual state and the checkpoint: what is written when, and what is put back at a start (contract 5, 6).
import type { CheckpointStore } from '../checkpoint/store.js';
import { entryKey, type PluginEntry, type PluginFacts } from '../checkpoint/document.js';
import type { FloodGate } from '../flood/flood-gate.js';
import type { Holding } from '../inventory/inventory.js';
import { DEVICE_PLUGIN, incarnationKey, type Incarnation } from '../model/ids.js';
import { isLive, isReplaced, type Instance } from '../reconcile/instance.js';
import { DeviceListReader } from '../platform/wire/device-list-reader.js';
import { WireError } from '../platform/wire/wire-error.js';
import type { Change } from '../reconcile/roster.js';
import type { Core } from './core.js';
import { timeText } from './views.js';

/** Plugins of the checkpoint keep a bucket of their own, however many others come (contract 4). */
export type Pins = Pick<FloodGate, 'pin' | 'unpin'>;

/** Writes the roster's facts, and reads them back. */
export class Persistence {
  readonly #store: CheckpointStore;
  readonly #pins: Pins;
  #core: Core | undefined;

  constructor(store: CheckpointStore, pins: Pins) {
    this.#store = store;
    this.#pins = pins;
  }

  /** Follows a core from now on. */
  follow(core: Core): void {
    this.#core = core;
    core.roster.onChange((change) => this.#changed(change));
    core.roster.onRemoved((instance) => this.#remove(instance));
  }

  /** Makes a registration durable; false when it could not be written in time. It is written later then. */
  async persist(instance: Instance): Promise<boolean> {
    const facts = factsOf(instance);
    const before = this.#store.contents.plugins.get(instance.id);
    this.#pins.pin(facts);
    if (before !== undefined) this.#pins.unpin(before);
    const durability = await this.#store.update((draft) => {
      draft.put(facts);
      const holding = this.#core?.inventory.holding(instance.id);
      if (holding !== undefined) draft.setList(instance.id, holding);
    });
    instance.isDurable = durability === 'durable';
    return instance.isDurable;
  }

  /** Everything is on disk again: what could not be written in time is there now. */
  caughtUp(): void {
    for (const instance of this.#core?.roster.all() ?? []) if (isLive(instance)) instance.isDurable = true;
  }

  /** A list counts: the first one at once, later ones at most so often. */
  listApplied({ instanceId }: Holding): void {
    this.#store.updateSoon(instanceId, (draft) => {
      const newest = this.#core?.inventory.holding(instanceId);
      if (newest !== undefined) draft.setList(instanceId, newest);
    });
  }

  /** Whether an operator has kept an incarnation out. */
  isDeregistered(socketKey: string): boolean {
    for (const { incarnation } of this.#store.contents.tombstones.values()) {
      if (incarnationKey(incarnation) === socketKey) return true;
    }
    return false;
  }

  /** Keeps these incarnations out from now on. Resolves when that is on disk or cannot be written. */
  async bury(instances: readonly Instance[], wallMs: number): Promise<void> {
    await this.#store.update((draft) => {
      for (const { type, name, socketKey } of instances) {
        draft.bury({ type, name, incarnation: incarnationFrom(socketKey), time: timeText(wallMs) });
      }
    });
  }

  /**
   * Puts every entry of the checkpoint back, in the order of their registrations, with the lists that can be read.
   *
   * @returns how many there are
   */
  async restore(core: Core, wallMs: number): Promise<number> {
    const entries = [...this.#store.contents.plugins.values()].sort((a, b) =>
      a.lastRegisteredAt < b.lastRegisteredAt ? -1 : 1,
    );
    const lists = await Promise.all(
      entries.map(({ list }) => (list === undefined ? Promise.resolve(undefined) : this.#store.readList(list))),
    );
    entries.forEach((entry, index) => {
      const instance = this.#instanceOf(entry, core, wallMs);
      this.#pins.pin(entry);
      const raw = lists[index];
      if (raw !== undefined && entry.list !== undefined) core.inventory.restore(holdingOf(instance, entry, raw));
      core.roster.restore(instance);
    });
    return entries.length;
  }

  #instanceOf(entry: PluginEntry, core: Core, wallMs: number): Instance {
    const isHint = this.#store.isHint(entry);
    const caller = {
      uid: entry.uid,
      gid: undefined,
      pid: entry.pid,
      startTime: undefined,
      source: 'peercred',
    } as const;
    return {
      id: entryKey(entry),
      type: entry.type,
      name: entry.name,
      door: entry.door,
      socketPath: entry.socketPath,
      endpointPath: entry.endpointPath,
      endpointAsSent: entry.endpoint,
      socketKey: incarnationKey(entry.socket),
      endpointKey: incarnationKey(entry.endpointSocket),
      versions: entry.versions,
      seq: core.enrolments.nextSeq(),
      state: entry.primary ? 'restored' : 'held',
      reason: entry.primary ? (isHint ? 'rebooted' : 'from-checkpoint') : 'replaced',
      message: isHint ? 'known from the checkpoint, a hint until it answers' : 'known from the checkpoint',
      stateSince: wallMs,
      registeredAt: wallOf(entry.lastRegisteredAt),
      firstRegisteredAt: wallOf(entry.firstRegisteredAt),
      version: entry.version,
      caller,
      listener: undefined,
      facts: entry.facts,
      // Before its first list an instance takes nobody's place.
      isServing: entry.primary && (entry.type !== DEVICE_PLUGIN || entry.list !== undefined),
      wasWatched: true,
      isHint,
      isConfirmed: false,
      isPresumed: entry.door === 'register' && entry.registrations === 0,
      isDurable: true,
      enrolment: undefined,
      counters: { registrations: entry.registrations, rejected: 0, updates: 0, coalesced: 0, disconnects: 0 },
    };
  }

  #changed({ instance }: Change): void {
    if (isReplaced(instance)) this.#replaced(instance);
    else if (!isLive(instance)) this.#remove(instance);
  }

  /** Its successor serves: from now on, and not before, it is a fallback. */
  #replaced({ id }: Instance): void {
    if (this.#store.contents.plugins.get(id)?.primary !== true) return;
    void this.#store.update((draft) => draft.change(id, { primary: false }));
  }

  #remove({ id }: Instance): void {
    const entry = this.#store.contents.plugins.get(id);
    if (entry === undefined) return;
    this.#pins.unpin(entry);
    void this.#store.update((draft) => draft.remove(id));
  }
}

function factsOf(instance: Instance): PluginFacts {
  const { caller } = instance;
  return {
    type: instance.type,
    name: instance.name,
    door: instance.door,
    endpoint: instance.endpointAsSent,
    endpointPath: instance.endpointPath,
    endpointSocket: incarnationFrom(instance.endpointKey),
    socketPath: instance.socketPath,
    socket: incarnationFrom(instance.socketKey),
    uid: caller?.uid ?? 0,
    ...(caller?.pid === undefined ? {} : { pid: caller.pid }),
    versions: instance.versions,
    version: instance.version,
    options: instance.facts,
    primary: true,
    firstRegisteredAt: timeText(instance.firstRegisteredAt),
    lastRegisteredAt: timeText(instance.registeredAt),
    registrations: instance.counters.registrations,
    facts: instance.facts,
  };
}

function holdingOf(instance: Instance, { list }: PluginEntry, raw: Buffer): Holding {
  return {
    instanceId: instance.id,
    resource: instance.name,
    raw,
    sha256: list?.sha256 ?? '',
    devices: list?.devices ?? 0,
    healthy: healthyIn(raw),
  };
}

/** Lists of the checkpoint were checked when they were taken; one that this version reads otherwise has no healthy device. */
function healthyIn(raw: Buffer): number {
  const reader = new DeviceListReader(raw, Infinity);
  try {
    while (!reader.readSlice());
  } catch (problem) {
    if (problem instanceof WireError) return 0;
    throw problem;
  }
  return reader.summary().healthy;
}

/** Epoch milliseconds of a recorded time; 0 when it cannot be read. */
function wallOf(time: string): number {
  const wall = Date.parse(time);
  return Number.isNaN(wall) ? 0 : wall;
}

function incarnationFrom(key: string): Incarnation {
  const [dev = '', ino = '', birthNs = ''] = key.split(':');
  return { dev, ino, birthNs };
}
