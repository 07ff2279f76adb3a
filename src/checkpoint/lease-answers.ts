// Plugins' answers for a lease: an answer of few bytes stands in the checkpoint, one of many is a file that it names, beside the
// device lists. An answer stands in the checkpoint until its file is on the disk, so that no lease waits for a second file.
import { createHash } from 'node:crypto';
import type { PluginAnswer } from '../model/lease.js';
import type { DeviceLists, OtherFile } from './device-lists.js';
import type { LeaseEntry, StoredAnswer } from './document.js';
import { answerFrom, answerText } from './lease-entry.js';

/** A JSON text is at most this many times as long as its contents; and each part of an answer has names and marks. */
const MOST_PER_CHARACTER = 6;
const MOST_PER_PART = 80;

/** Knows which answers are files. */
export class LeaseAnswers {
  readonly #lists: DeviceLists;
  readonly #inlineBytes: number;
  /** Of each answer that was looked at: its file, or that it is too small for one. */
  readonly #stored = new WeakMap<PluginAnswer, StoredAnswer | 'small'>();
  /** Leases as they are written, once their answer is a file; the same as long as the lease is. */
  readonly #short = new WeakMap<LeaseEntry, LeaseEntry>();

  /** Answers of the last generation that should be files, by hash. */
  readonly #waiting = new Map<string, PluginAnswer>();
  #isFailing = false;

  /** @param inlineBytes answers up to this size stand in the checkpoint itself */
  constructor(lists: DeviceLists, inlineBytes: number) {
    this.#lists = lists;
    this.#inlineBytes = inlineBytes;
  }

  /**
   * Reads the answers that are files. An answer whose file is missing or damaged is lost; its lease is not.
   *
   * @param read gives the bytes of a file; undefined when they cannot be had
   * @param answered is told each answer, by the id of its lease
   */
  async read(
    leases: Iterable<LeaseEntry>,
    read: (file: StoredAnswer) => Promise<Buffer | undefined>,
    answered: (id: string, answer: PluginAnswer) => void,
  ): Promise<void> {
    const one = async (id: string, answerFile: StoredAnswer): Promise<void> => {
      const bytes = await read(answerFile);
      const answer = bytes === undefined ? undefined : answerFrom(bytes);
      if (answer === undefined) return;
      this.#stored.set(answer, answerFile);
      answered(id, answer);
    };
    const reading: Promise<void>[] = [];
    for (const { id, answerFile } of leases) if (answerFile !== undefined) reading.push(one(id, answerFile));
    await Promise.all(reading);
  }

  /** How many answers stand in the checkpoint that should be files. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Whether there are such, and they can be files. */
  get areWaiting(): boolean {
    return this.#waiting.size > 0 && !this.#isFailing;
  }

  /**
   * Makes files of some answers that stand in the last generation. Never rejects: where no file can be made they stand in
   * the next one, too, which is as good and longer.
   *
   * @param hasRoom whether the disk has room for files
   */
  async writeSome(atMost: number, hasRoom: boolean): Promise<void> {
    const some = [...this.#waiting].slice(0, atMost);
    if (some.length === 0) return;
    this.#isFailing = !hasRoom;
    if (!hasRoom) return;
    try {
      await this.#lists.write(new Map(some.map(([sha256, answer]) => [sha256, Buffer.from(answerText(answer))])));
      for (const [sha256] of some) this.#waiting.delete(sha256);
    } catch {
      this.#isFailing = true;
    }
  }

  /** The leases as the next generation has them: a lease whose answer is a file names the file. */
  asWritten(leases: Iterable<LeaseEntry>): readonly LeaseEntry[] {
    const named = new Map<string, OtherFile>();
    const written: LeaseEntry[] = [];
    this.#waiting.clear();
    for (const lease of leases) {
      const { answer } = lease;
      const stored = lease.answerFile ?? this.#storedOf(answer);
      const isFile = stored !== undefined && (answer.isLost === true || this.#lists.isThere(stored.sha256));
      if (stored !== undefined && !isFile) this.#waiting.set(stored.sha256, answer);
      if (isFile && answer.isLost !== true)
        named.set(stored.sha256, { bytes: stored.bytes, make: () => Buffer.from(answerText(answer)) });
      written.push(isFile ? this.#shortened(lease, stored) : lease);
    }
    this.#lists.others = named;
    return written;
  }

  /** The same for the same lease, so that it is encoded once. */
  #shortened(lease: LeaseEntry, answerFile: StoredAnswer): LeaseEntry {
    const known = this.#short.get(lease) ?? { ...lease, answerFile };
    this.#short.set(lease, known);
    return known;
  }

  #storedOf(answer: PluginAnswer): StoredAnswer | undefined {
    const known = this.#stored.get(answer);
    if (known !== undefined || answer.isLost === true) return known === 'small' ? undefined : known;
    const bytes = isSurelySmall(answer, this.#inlineBytes) ? undefined : Buffer.from(answerText(answer));
    const stored =
      bytes === undefined || bytes.length <= this.#inlineBytes
        ? undefined
        : { sha256: createHash('sha256').update(bytes).digest('hex'), bytes: bytes.length };
    this.#stored.set(answer, stored ?? 'small');
    return stored;
  }
}

/** Without making the text: most answers are a variable or two. */
function isSurelySmall({ envs, mounts, devices, annotations, cdiDevices }: PluginAnswer, most: number): boolean {
  let characters = 0;
  const parts = 1 + envs.size + annotations.size + mounts.length + devices.length + cdiDevices.length;
  for (const [name, value] of envs) characters += name.length + value.length;
  for (const [name, value] of annotations) characters += name.length + value.length;
  for (const { containerPath, hostPath } of mounts) characters += containerPath.length + hostPath.length;
  for (const { containerPath, hostPath } of devices) characters += containerPath.length + hostPath.length;
  for (const name of cdiDevices) characters += name.length;
  return characters * MOST_PER_CHARACTER + parts * MOST_PER_PART <= most;
}
