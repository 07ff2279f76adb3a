// Files beside the checkpoint, and device lists: a list of few bytes stands in the checkpoint, one of many is such a file. A file
// is on the disk before a generation that names it, and is removed only when neither of the two generations on the disk names it
// any more.
import { createHash } from 'node:crypto';
import { entryKey, type CheckpointDocument, type PluginEntry, type StoredList } from './document.js';
import type { ReceivedList } from './draft.js';
import type { ListFiles } from './ports.js';

/** The newest lists in memory. Inventory (inventory/inventory) has them. */
export interface NewestLists {
  /** By entryKey, which is the id of the instance; undefined when there is none. */
  holding(key: string): ReceivedList | undefined;
}

/** A further file that the newest generation names. LeaseAnswers (checkpoint/lease-answers) has them. */
export interface OtherFile {
  readonly bytes: number;
  /** Makes its contents again. */
  readonly make: () => Buffer;
}

/** Files whose size is looked at in one go: each takes about 30 µs of the disk. */
const SIZES_AT_ONCE = 64;

/** Files removed after one commit: more would make the next one wait. */
const REMOVALS_PER_COMMIT = 64;

/** File systems give room in blocks of this size, most of them. */
const BLOCK_BYTES = 4096;

/** Bytes written before one commit, or a single list that is larger. */
const BYTES_AT_ONCE = 4 * 1024 * 1024;

/** Knows which lists are files, which wait to become files, and which are not named any more. */
export class DeviceLists {
  readonly #files: ListFiles;
  readonly #inlineBytes: number;
  /** The newest list of an entry that is not on the disk yet, by entryKey. */
  readonly #waiting = new Map<string, ReceivedList>();
  /** The files on the disk: written or named by the checkpoint that was read, or found lying about and not to be relied on. */
  readonly #present = new Map<string, 'whole' | 'found'>();
  /** Those for which there was no room when they were looked at last. */
  readonly #withoutRoom = new WeakSet<ReceivedList>();
  #hasLooked = false;
  /** The entries whose files were all there when it was looked last. */
  #whole: readonly PluginEntry[] | undefined;
  #namedBefore: ReadonlySet<string> = new Set<string>();
  /** Files that had another size than they were written with, until they are written again. */
  readonly #changed = new Set<string>();
  /** Where the next look at sizes begins. */
  #sizesFrom = 0;
  /** Further files that the newest generation names, by hash. */
  others: ReadonlyMap<string, OtherFile> = new Map();

  /** @param inlineBytes lists up to this size stand in the checkpoint itself */
  constructor(files: ListFiles, inlineBytes: number) {
    this.#files = files;
    this.#inlineBytes = inlineBytes;
  }

  /** How many lists wait to be written. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** How many of them the disk had no room for when it was looked last. */
  get withoutRoom(): number {
    return [...this.#waiting.values()].filter((list) => this.#withoutRoom.has(list)).length;
  }

  /** Whether lists wait to be written that may have room. */
  get areWaiting(): boolean {
    return this.withoutRoom < this.waiting;
  }

  /** Whether the files that entries name were all there when it was looked last, and no folder had to be made since. */
  get areKept(): boolean {
    return this.#whole !== undefined;
  }

  /** Takes the newest list of an entry. @returns the entry's form of it, or undefined when its bytes must be written first */
  offer(key: string, list: ReceivedList): StoredList | undefined {
    const isInline = list.raw.length <= this.#inlineBytes;
    if (!isInline && this.#present.get(list.sha256) !== 'whole') {
      this.#waiting.set(key, list);
      return undefined;
    }
    this.#waiting.delete(key);
    return isInline ? { ...stored(list), inline: list.raw.toString('base64') } : stored(list);
  }

  /** Counts the lists of a document that was read as present. */
  loaded(document: CheckpointDocument): void {
    this.#namedBefore = filesNamedIn(document);
    for (const sha256 of this.#namedBefore) this.#present.set(sha256, 'whole');
  }

  /** The bytes of a list that is a file; undefined when that is missing or damaged. */
  async read(list: Pick<StoredList, 'sha256' | 'bytes'>): Promise<Buffer | undefined> {
    const bytes = await this.#files.read(list.sha256, list.bytes);
    if (bytes !== undefined && createHash('sha256').update(bytes).digest('hex') === list.sha256) return bytes;
    this.#present.delete(list.sha256);
    return undefined;
  }

  /** Whether a file is known to be on the disk, whole. */
  isThere(sha256: string): boolean {
    return this.#present.get(sha256) === 'whole';
  }

  /** Resolves when these files, by hash, are on the disk. */
  async write(files: ReadonlyMap<string, Buffer>): Promise<void> {
    let isOld = false;
    try {
      isOld = !(await this.#files.write(files));
    } finally {
      // A folder that had to be made has none of the files that were in it: `putBack` looks which ones have to be there.
      if (!isOld) this.#whole = undefined;
    }
    for (const sha256 of files.keys()) {
      this.#present.set(sha256, 'whole');
      this.#changed.delete(sha256);
    }
  }

  /**
   * Compares the sizes of some files that entries name with those that they were written with, of others at the next call:
   * `missing` has the changed ones from then on. Rejects when the disk does not say.
   *
   * @param plugins the entries in memory
   */
  async lookAtSizes(plugins: ReadonlyMap<string, PluginEntry>): Promise<void> {
    const sizes = new Map([...this.others].map(([sha256, { bytes }]) => [sha256, bytes]));
    for (const list of filesOf(plugins.values())) sizes.set(list.sha256, list.bytes);
    const known = [...sizes].filter(([sha256]) => this.isThere(sha256));
    const from = this.#sizesFrom < known.length ? this.#sizesFrom : 0;
    this.#sizesFrom = from + SIZES_AT_ONCE;
    for (const [sha256, bytes] of known.slice(from, this.#sizesFrom)) {
      const now = await this.#files.sizeOf(sha256);
      // It may be unnamed, and removed by us, by now.
      if (now !== bytes && this.isThere(sha256)) this.#changed.add(sha256);
    }
  }

  /**
   * The hashes of files that entries name, that were on the disk, and in whose place is none of ours by now: somebody removed,
   * exchanged or changed them.
   */
  async missing(plugins: ReadonlyMap<string, PluginEntry>): Promise<ReadonlySet<string>> {
    const named = [...filesNamedBy(plugins.values()), ...this.others.keys()];
    const known = named.filter((sha256) => this.isThere(sha256));
    if (known.length === 0) return new Set();
    const files = (await this.#files.entries()).filter(({ isFile }) => isFile);
    const there = new Set(files.map(({ name }) => name));
    const missing = new Set(known.filter((sha256) => !there.has(sha256) || this.#changed.has(sha256)));
    if (missing.size > 0) this.#whole = undefined;
    return missing;
  }

  /**
   * Writes files again that entries name and that are `missing`. A list that is not in memory any more is
   * unknown from now on. Looks only when the entries changed, `missing` found something, or the folder had to be made: a generation
   * in which only leases changed names the same lists.
   *
   * @param plugins the entries in memory
   * @param newest has the lists that are in memory
   */
  async putBack(plugins: ReadonlyMap<string, PluginEntry>, newest: NewestLists): Promise<void> {
    const entries = [...plugins.values()];
    if (this.#whole?.length === entries.length && this.#whole.every((entry, at) => entry === entries[at])) return;
    const missing = await this.missing(plugins);
    if (missing.size === 0) {
      this.#whole = entries;
      return;
    }
    const lost = new Map<string, Buffer>();
    for (const key of plugins.keys()) {
      const list = newest.holding(key);
      if (list !== undefined && missing.has(list.sha256)) lost.set(list.sha256, list.raw);
    }
    for (const [sha256, { make }] of this.others) if (missing.has(sha256)) lost.set(sha256, make());
    for (const sha256 of missing) if (!lost.has(sha256)) this.#present.delete(sha256);
    try {
      if (lost.size > 0) await this.#files.write(lost);
      for (const sha256 of missing) this.#changed.delete(sha256);
    } catch (failure) {
      // The lists count as missing at the next commit, too; the further ones stand in the checkpoint until they are files again.
      for (const sha256 of this.others.keys()) if (missing.has(sha256)) this.#present.delete(sha256);
      throw failure;
    }
  }

  /**
   * Writes some of the lists that wait, those that have waited longest first.
   *
   * @param plugins the entries in memory; lists of others are dropped
   * @param roomBytes what all files written now may take of the disk; lists for which there is not enough of it wait on
   * @returns the entries' new forms of lists, by key; entries that have a newer list meanwhile are left out
   */
  async writeSome(
    atMost: number,
    plugins: ReadonlyMap<string, PluginEntry>,
    roomBytes = Infinity,
  ): Promise<ReadonlyMap<string, StoredList>> {
    for (const key of this.#waiting.keys()) if (!plugins.has(key)) this.#waiting.delete(key);
    const batch: [key: string, list: ReceivedList][] = [];
    let [bytes, taken] = [0, 0];
    for (const [key, list] of this.#waiting) {
      if (taken + takenBytes(list) > roomBytes) {
        this.#withoutRoom.add(list);
        continue;
      }
      this.#withoutRoom.delete(list);
      bytes += list.raw.length;
      if (batch.length === atMost || (batch.length > 0 && bytes > BYTES_AT_ONCE)) break;
      taken += takenBytes(list);
      batch.push([key, list]);
    }
    const written = new Map<string, StoredList>();
    if (batch.length === 0) return written;
    await this.write(new Map(batch.map(([, { sha256, raw }]) => [sha256, raw])));
    for (const [key, list] of batch) {
      const waiting = this.#waiting.get(key);
      if (waiting === undefined) continue;
      if (waiting === list) this.#waiting.delete(key);
      written.set(key, stored(list));
    }
    return written;
  }

  /**
   * Removes the files that nobody names once `document` is on the disk.
   *
   * @param plugins the entries in memory, which may name more by now
   */
  async committed(document: CheckpointDocument, plugins: ReadonlyMap<string, PluginEntry>): Promise<void> {
    const named = filesNamedIn(document);
    const before = this.#namedBefore;
    this.#namedBefore = named;
    if (!this.#hasLooked) {
      for (const { name: sha256 } of await this.#files.entries()) {
        if (!this.#present.has(sha256)) this.#present.set(sha256, 'found');
      }
      this.#hasLooked = true;
    }
    await this.#remove((sha256) => named.has(sha256) || before.has(sha256), plugins);
  }

  /**
   * Removes files although the disk did not take a generation without them, because it is full: those of entries that are no more. A
   * start that finds the old generation restores these entries with their devices unknown, and they are gone all the same.
   *
   * @param durable the generation on the disk
   * @param plugins the entries in memory
   */
  async giveWay(
    durable: Pick<CheckpointDocument, 'plugins' | 'leases'>,
    plugins: ReadonlyMap<string, PluginEntry>,
  ): Promise<void> {
    const entries = durable.plugins.filter((entry) => plugins.has(entryKey(entry)));
    const named = filesNamedIn({ plugins: entries, leases: durable.leases });
    await this.#remove((sha256) => named.has(sha256) || this.others.has(sha256), plugins);
  }

  async #remove(isNamed: (sha256: string) => boolean, plugins: ReadonlyMap<string, PluginEntry>): Promise<void> {
    const unnamed = [...this.#present.keys()].filter((sha256) => !isNamed(sha256));
    for (const sha256 of unnamed.slice(0, REMOVALS_PER_COMMIT)) {
      // Asked anew each time: the list may have come back while another file was being removed.
      if (filesNamedBy(plugins.values()).has(sha256)) continue;
      this.#present.delete(sha256);
      this.#changed.delete(sha256);
      await this.#files.remove(sha256);
    }
  }
}

/** Of the disk: whole blocks, and one for the names. */
function takenBytes({ raw }: ReceivedList): number {
  return (Math.ceil(raw.length / BLOCK_BYTES) + 1) * BLOCK_BYTES;
}

function stored({ raw, sha256, devices, healthy }: ReceivedList): StoredList {
  return { sha256, bytes: raw.length, devices, ...(healthy === undefined ? {} : { healthy }) };
}

function filesNamedIn({ plugins, leases }: Pick<CheckpointDocument, 'plugins' | 'leases'>): Set<string> {
  const named = filesNamedBy(plugins);
  for (const { answerFile } of leases) if (answerFile !== undefined) named.add(answerFile.sha256);
  return named;
}

function filesNamedBy(plugins: Iterable<PluginEntry>): Set<string> {
  return new Set([...filesOf(plugins)].map(({ sha256 }) => sha256));
}

function* filesOf(plugins: Iterable<PluginEntry>): Generator<StoredList> {
  for (const { list } of plugins) if (list !== undefined && list.inline === undefined) yield list;
}
