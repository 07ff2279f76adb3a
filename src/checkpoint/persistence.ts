// Between the actual state and the checkpoint: decides which changes are written when, and restores the state at a start.
import type { Clock } from '../kernel/clock.js';
import type { Holding, ListListener } from '../model/device-list.js';
import type { FloodKey, FloodListener, Quarantine } from '../model/flood.js';
import { incarnationKey } from '../model/ids.js';
import { isLive, isReplaced, type Change, type Instance, type RosterListener } from '../model/instance.js';
import type { RegistrationStore } from '../model/registration.js';
import { timeText } from '../model/views.js';
import type { Draft } from './draft.js';
import { factsOf, holdingOf, incarnationFrom, instanceOf } from './entries.js';
import type { CheckpointStore } from './store.js';

/** Generations within this have the same strikes, unless somebody said that they changed: to look at all takes time. */
const NEW_ENOUGH_MS = 1000;

/** The sources of the records, and the parts that are restored. */
export interface PersistencePorts {
  readonly store: CheckpointStore;
  /** Roster (reconcile/roster). */
  readonly roster: { nextSeq(): number; all(): Iterable<Instance>; restore(instance: Instance): void };
  /** Inventory (inventory/inventory). */
  readonly lists: { holding(instanceId: string): Holding | undefined; restore(holding: Holding): void };
  /**
   * Strikes and quarantines; plugins of the checkpoint keep a bucket of their own, however many others come. FloodGate
   * (flood/flood-gate).
   */
  readonly flood: {
    pin(key: FloodKey): void;
    unpin(key: FloodKey): void;
    snapshot(): readonly unknown[];
    restore(records: readonly unknown[], isSameBoot: boolean): readonly Quarantine[];
  };
  readonly clock: Clock;
  /**
   * Counts the healthy devices of a list that was accepted once, in slices; 0 where this version reads it otherwise:
   * `countHealthy` (platform/wire/list-decoder).
   */
  readonly countHealthy: (raw: Buffer) => Promise<number>;
}

/** Writes the facts of roster, inventory and flood policy, and reads them back. */
export class Persistence implements RegistrationStore, RosterListener, ListListener, FloodListener {
  readonly #ports: PersistencePorts;
  readonly #store: CheckpointStore;
  /** Strikes and quarantines as the newest generation has them, and until when they are new enough for the next one. */
  #penalties: readonly unknown[] = [];
  #penaltiesUntilMs = -Infinity;

  constructor(ports: PersistencePorts) {
    this.#ports = ports;
    this.#store = ports.store;
  }

  /** A registration may be made durable in a moment. */
  expect(): void {
    this.#store.expect();
  }

  /**
   * Makes a registration durable; false when it could not be written in time. It is written later then.
   *
   * @param pulled nobody waits for it, and plugins that hang up are pulled again and again: an entry that is there is noted
   */
  async persist(instance: Instance, pulled = false): Promise<boolean> {
    const { flood, lists } = this.#ports;
    const facts = factsOf(instance);
    const before = this.#store.contents.plugins.get(instance.id);
    flood.pin(facts);
    if (before !== undefined) flood.unpin(before);
    const put = (draft: Draft): void => {
      draft.put(facts);
      const holding = lists.holding(instance.id);
      if (holding !== undefined) draft.setList(instance.id, holding);
    };
    if (pulled && before !== undefined && instance.isDurable) this.#store.note(put);
    else instance.isDurable = (await this.#store.update(put)) === 'durable';
    return instance.isDurable;
  }

  isKept(): Promise<boolean> {
    return this.#store.isKept();
  }

  /** Everything is on disk again: the changes that could not be written in time are there now. */
  caughtUp(): void {
    for (const instance of this.#ports.roster.all()) if (isLive(instance)) instance.isDurable = true;
  }

  /** A list counts: the first one at once, later ones at most so often. */
  listApplied({ instanceId }: Holding): void {
    this.#store.updateSoon(instanceId, (draft) => {
      const newest = this.#ports.lists.holding(instanceId);
      if (newest !== undefined) draft.setList(instanceId, newest);
    });
  }

  /** Strikes and quarantines changed. */
  penaltiesChanged(): void {
    void this.writePenalties();
  }

  /** Writes strikes and quarantines as they are. Resolves when that is on disk or cannot be written. */
  async writePenalties(): Promise<void> {
    this.#penaltiesUntilMs = -Infinity;
    await this.#store.update((draft) => draft.setLimits(this.#penaltiesNow));
  }

  /**
   * Restores strikes and quarantines of the checkpoint; quarantines that still run take its place in it.
   *
   * @param isSameBoot whether the machine has not been started again since
   * @returns quarantines that ended meanwhile: their plugins are to be pulled
   */
  restorePenalties(isSameBoot: boolean): readonly Quarantine[] {
    const { limits } = this.#store.contents;
    const over = this.#ports.flood.restore(limits, isSameBoot);
    if (limits.length > 0) this.#store.note((draft) => draft.setLimits(this.#penaltiesNow));
    return over;
  }

  /** An instance changed: a predecessor becomes a fallback, a dead instance leaves the checkpoint. */
  changed({ instance }: Change): void {
    if (isReplaced(instance)) this.#replaced(instance);
    else if (!isLive(instance)) this.removed(instance);
    else {
      this.#sentAway(instance);
      this.#renamed(instance);
      this.#factsChanged(instance);
    }
  }

  /** An instance was dropped. */
  removed({ id }: Instance): void {
    const entry = this.#store.contents.plugins.get(id);
    if (entry === undefined) return;
    this.#ports.flood.unpin(entry);
    this.#store.note((draft) => draft.remove(id));
  }

  /** Whether an operator has kept an incarnation out. */
  isDeregistered(socketKey: string): boolean {
    for (const { incarnation } of this.#store.contents.tombstones.values()) {
      if (incarnationKey(incarnation) === socketKey) return true;
    }
    return false;
  }

  /** Keeps these incarnations out from now on. Resolves when that is on disk or cannot be written. */
  async addTombstones(instances: readonly Instance[], wallMs: number): Promise<void> {
    await this.#store.update((draft) => {
      for (const { type, name, socketKey } of instances) {
        draft.addTombstone({ type, name, incarnation: incarnationFrom(socketKey), time: timeText(wallMs) });
      }
    });
  }

  /** Whether all changes up to now are on the disk, as soon as that is known. */
  async isWritten(): Promise<boolean> {
    return (await this.#store.update(() => undefined)) === 'durable';
  }

  /** Puts every entry of the checkpoint back, in the order of their registrations, with the lists that can be read. */
  async restore(wallMs: number): Promise<void> {
    const { roster, lists, flood, countHealthy } = this.#ports;
    const entries = [...this.#store.contents.plugins.values()].sort((a, b) =>
      a.lastRegisteredAt < b.lastRegisteredAt ? -1 : 1,
    );
    const read = await Promise.all(
      entries.map(({ list }) => (list === undefined ? Promise.resolve(undefined) : this.#store.readList(list))),
    );
    for (const [index, entry] of entries.entries()) {
      const instance = instanceOf(entry, roster.nextSeq(), this.#store.isHint(entry), wallMs);
      flood.pin(entry);
      const raw = read[index];
      // A list of an ordinary user may be long, and nobody is served before all are back.
      if (raw !== undefined)
        lists.restore(holdingOf(instance.id, entry, raw, entry.list?.healthy ?? (await countHealthy(raw))));
      roster.restore(instance);
    }
  }

  readonly #penaltiesNow = (): readonly unknown[] => {
    const { clock, flood } = this.#ports;
    const nowMs = clock.mono();
    if (nowMs >= this.#penaltiesUntilMs) {
      this.#penalties = flood.snapshot();
      this.#penaltiesUntilMs = nowMs + NEW_ENOUGH_MS;
    }
    return this.#penalties;
  };

  /** A plugin that the broker gave a reason to restart gets its time in the next life of the broker, too. */
  #sentAway({ id, isAway }: Instance): void {
    const entry = this.#store.contents.plugins.get(id);
    if (entry === undefined || (entry.sentAway === true) === isAway) return;
    this.#store.note((draft) => draft.change(id, { sentAway: isAway }));
  }

  /** Its socket goes by another name, which may happen again and again. */
  #renamed(instance: Instance): void {
    const { id } = instance;
    const entry = this.#store.contents.plugins.get(id);
    if (entry === undefined || entry.socketPath === instance.socketPath) return;
    this.#store.updateSoon(`names of ${id}`, (draft) => {
      const { socketPath, endpointPath, endpointAsSent: endpoint, endpointKey } = instance; // as they are by then
      const known = this.#store.contents.plugins.get(id)?.endpointSocket;
      if (known !== undefined && incarnationKey(known) === endpointKey)
        draft.change(id, { socketPath, endpointPath, endpoint });
    });
  }

  /** Other facts of a driver, which may come again and again. */
  #factsChanged(instance: Instance): void {
    const { id, facts } = instance;
    const entry = this.#store.contents.plugins.get(id);
    if (entry === undefined || entry.facts === facts || JSON.stringify(entry.facts) === JSON.stringify(facts)) return;
    this.#store.updateSoon(`facts of ${id}`, (draft) => draft.change(id, { facts: instance.facts })); // as they are by then
  }

  /** Its successor serves: from now on, and not before, it is a fallback. */
  #replaced({ id }: Instance): void {
    if (this.#store.contents.plugins.get(id)?.primary !== true) return;
    this.#store.note((draft) => draft.change(id, { primary: false }));
  }
}
