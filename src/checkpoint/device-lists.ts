// Device lists of the checkpoint: few bytes stand in it, many are files that it names. A file is on the disk before a
// generation that names it, and goes only when neither of the two generations on the disk names it any more.
import { createHash } from 'node:crypto';
import type { CheckpointDocument, PluginEntry, StoredList } from './document.js';
import type { ReceivedList } from './draft.js';
import type { ListFiles } from './ports.js';

/** Files removed after one commit: more would make the next one wait. */
const REMOVALS_PER_COMMIT = 64;

/** Knows which lists are files, which wait to become files, and which are not named any more. */
export class DeviceLists {
  readonly #files: ListFiles;
  readonly #inlineBytes: number;
  /** Bytes that no commit has written yet, by hash. */
  readonly #waiting = new Map<string, Buffer>();
  /** Files there are: written or named by what was read, or found lying about and not to be relied on. */
  readonly #present = new Map<string, 'whole' | 'found'>();
  #hasLooked = false;
  #namedBefore: ReadonlySet<string> = new Set<string>();

  /** @param inlineBytes lists up to this size stand in the checkpoint itself */
  constructor(files: ListFiles, inlineBytes: number) {
    this.#files = files;
    this.#inlineBytes = inlineBytes;
  }

  /** Takes a list that the next commit will name. */
  keep({ raw, sha256, devices }: ReceivedList): StoredList {
    const list = { sha256, bytes: raw.length, devices };
    if (raw.length <= this.#inlineBytes) return { ...list, inline: raw.toString('base64') };
    if (this.#present.get(sha256) !== 'whole') this.#waiting.set(sha256, raw);
    return list;
  }

  /** Counts the lists of a document that was read as present. */
  loaded(document: CheckpointDocument): void {
    this.#namedBefore = filesNamedBy(document.plugins);
    for (const sha256 of this.#namedBefore) this.#present.set(sha256, 'whole');
  }

  /** The bytes of a list; undefined when its file is missing or damaged, and the devices are unknown. */
  async read(list: StoredList): Promise<Buffer | undefined> {
    if (list.inline !== undefined) return Buffer.from(list.inline, 'base64');
    const waiting = this.#waiting.get(list.sha256);
    if (waiting !== undefined) return waiting;
    const bytes = await this.#files.read(list.sha256, list.bytes);
    if (bytes !== undefined && createHash('sha256').update(bytes).digest('hex') === list.sha256) return bytes;
    this.#present.delete(list.sha256);
    return undefined;
  }

  /** Writes the files a document names and that are not there yet. Rejects when one could not be written. */
  async prepare(document: CheckpointDocument): Promise<void> {
    const missing = new Map<string, Buffer>();
    for (const sha256 of filesNamedBy(document.plugins)) {
      const bytes = this.#waiting.get(sha256);
      if (bytes !== undefined) missing.set(sha256, bytes);
    }
    if (missing.size === 0) return;
    await this.#files.write(missing);
    for (const sha256 of missing.keys()) {
      this.#present.set(sha256, 'whole');
      this.#waiting.delete(sha256);
    }
  }

  /**
   * Forgets and removes what nobody names once `document` is on the disk.
   *
   * @param plugins the entries in memory, which may name more by now
   */
  async committed(document: CheckpointDocument, plugins: ReadonlyMap<string, PluginEntry>): Promise<void> {
    const named = filesNamedBy(document.plugins);
    const before = this.#namedBefore;
    this.#namedBefore = named;
    if (!this.#hasLooked) {
      for (const sha256 of await this.#files.hashes()) {
        if (!this.#present.has(sha256)) this.#present.set(sha256, 'found');
      }
      this.#hasLooked = true;
    }
    const inMemory = filesNamedBy(plugins.values());
    for (const sha256 of this.#waiting.keys()) if (!inMemory.has(sha256)) this.#waiting.delete(sha256);
    const unnamed = [...this.#present.keys()].filter((sha256) => !named.has(sha256) && !before.has(sha256));
    for (const sha256 of unnamed.slice(0, REMOVALS_PER_COMMIT)) {
      // Asked anew each time: the list may have come back while another file was being removed.
      if (filesNamedBy(plugins.values()).has(sha256)) continue;
      this.#present.delete(sha256);
      await this.#files.remove(sha256);
    }
  }

  /** The folder may have vanished: no file in it counts as present any more. */
  forgetFiles(): void {
    this.#present.clear();
  }
}

function filesNamedBy(plugins: Iterable<PluginEntry>): Set<string> {
  const named = new Set<string>();
  for (const { list } of plugins) if (list !== undefined && list.inline === undefined) named.add(list.sha256);
  return named;
}
