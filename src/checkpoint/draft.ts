// The checkpoint in memory, and the few ways in which it may be changed.
import { enterLast } from '../kernel/enter-last.js';
import { incarnationKey, pluginKey } from '../model/ids.js';
import type { LeaseRecord, LedgerState, PluginAnswer } from '../model/lease.js';
import { entryKey, MAX_TOMBSTONES } from './document.js';
import type { CheckpointDocument, LeaseEntry, PluginEntry, PluginFacts, StoredList, Tombstone } from './document.js';

/** A device list as it was received. */
export interface ReceivedList {
  readonly raw: Buffer;
  /** Of `raw`, in hexadecimal. */
  readonly sha256: string;
  /** How many devices it names. */
  readonly devices: number;
  /** How many of them are healthy, where they were counted. */
  readonly healthy?: number;
}

/** Takes a list; returns the entry's form of it where that is known at once: `DeviceLists.offer` (checkpoint/device-lists). */
export type OfferList = (key: string, list: ReceivedList) => StoredList | undefined;

/** The contents of the checkpoint as they can be read at any time. */
export interface Contents {
  /** By entryKey, in the order in which they came. */
  readonly plugins: ReadonlyMap<string, PluginEntry>;
  readonly limits: readonly unknown[];
  /** By entryKey, oldest first. */
  readonly tombstones: ReadonlyMap<string, Tombstone>;
  readonly ledger: LedgerState;
  /** By id, oldest first. */
  readonly leases: ReadonlyMap<string, LeaseEntry>;
}

/** The contents as a mutation sees them. Late news of an entry that is gone change nothing. */
export class Draft implements Contents {
  readonly #bootId: string;
  readonly #offer: OfferList;
  readonly #plugins = new Map<string, PluginEntry>();
  readonly #tombstones = new Map<string, Tombstone>();
  readonly #leases = new Map<string, LeaseEntry>();
  readonly plugins: ReadonlyMap<string, PluginEntry> = this.#plugins;
  readonly tombstones: ReadonlyMap<string, Tombstone> = this.#tombstones;
  readonly leases: ReadonlyMap<string, LeaseEntry> = this.#leases;
  #limits: () => readonly unknown[] = () => [];
  #ledger: LedgerState = 'ok';

  /** @param offer takes the newest list of an entry */
  constructor(bootId: string, offer: OfferList) {
    this.#bootId = bootId;
    this.#offer = offer;
  }

  get limits(): readonly unknown[] {
    return this.#limits();
  }

  get ledger(): LedgerState {
    return this.#ledger;
  }

  /** Records a lease, in place of its earlier record. */
  putLease(lease: LeaseRecord): void {
    const { extra, answerFile } = this.#leases.get(lease.id) ?? {};
    const kept = {
      ...(extra === undefined ? {} : { extra }),
      ...(lease.answer.isLost === true && answerFile !== undefined ? { answerFile } : {}),
    };
    this.#leases.set(lease.id, { ...lease, ...kept });
  }

  /** The answer of a lease was read from its file. */
  putAnswer(id: string, answer: PluginAnswer): void {
    const lease = this.#leases.get(id);
    if (lease === undefined) return;
    const { answerFile, ...kept } = lease;
    this.#leases.set(id, answerFile === undefined ? lease : { ...kept, answer });
  }

  /** Forgets a lease. */
  removeLease(id: string): void {
    this.#leases.delete(id);
  }

  /** Sets the state of the ledger. */
  setLedger(state: LedgerState): void {
    this.#ledger = state;
  }

  /**
   * Records a plugin that is alive now, in place of the earlier record of the same incarnation. Its last list and fields of newer
   * versions stay, unless `facts` has others.
   */
  put(facts: PluginFacts): void {
    const key = entryKey(facts);
    const { list, extra } = this.#plugins.get(key) ?? {};
    const kept = { ...(list === undefined ? {} : { list }), ...(extra === undefined ? {} : { extra }) };
    this.#plugins.set(key, { ...kept, ...facts, bootId: this.#bootId });
  }

  /** Changes single facts of an entry. Whether it is a hint stays as it is. */
  change(key: string, facts: Partial<Omit<PluginFacts, 'type' | 'name' | 'socket'>>): void {
    const entry = this.#plugins.get(key);
    if (entry !== undefined) this.#plugins.set(key, { ...entry, ...facts });
  }

  /**
   * The last list of an entry, which is known to be alive by it. The entry names a large one only when it is a file on
   * the disk, a little later; until then it names the one before.
   */
  setList(key: string, list: ReceivedList): void {
    const entry = this.#plugins.get(key);
    if (entry === undefined) return;
    const stored = this.#offer(key, list);
    this.#plugins.set(key, { ...entry, bootId: this.#bootId, ...(stored === undefined ? {} : { list: stored }) });
  }

  /** A list that was offered is on the disk. */
  nameList(key: string, list: StoredList): void {
    const entry = this.#plugins.get(key);
    if (entry !== undefined) this.#plugins.set(key, { ...entry, list });
  }

  /** Forgets an entry. */
  remove(key: string): void {
    this.#plugins.delete(key);
  }

  /** Keeps an incarnation out from now on. The oldest tombstones are dropped when there are too many. */
  addTombstone(tombstone: Tombstone): void {
    const key = `${pluginKey(tombstone)}@${incarnationKey(tombstone.incarnation)}`;
    enterLast(this.#tombstones, key, tombstone, MAX_TOMBSTONES);
  }

  /**
   * Each generation takes strikes and quarantines from this function, as JSON values: those that are over leave the checkpoint
   * with the next generation.
   */
  setLimits(limits: () => readonly unknown[]): void {
    this.#limits = limits;
  }

  /** Takes over the contents of a document. `asHints`: its entries count only once they were probed. */
  load(document: CheckpointDocument, asHints: boolean): void {
    for (const entry of document.plugins)
      this.#plugins.set(entryKey(entry), asHints ? { ...entry, bootId: '' } : entry);
    for (const tombstone of document.tombstones) this.addTombstone(tombstone);
    this.#limits = () => document.limits;
    for (const lease of document.leases) this.#leases.set(lease.id, lease);
    this.#ledger = document.ledger === 'ok' && asHints ? 'stale' : document.ledger;
  }
}
