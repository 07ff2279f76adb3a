// A file with a previous generation: replaced whole or not at all, and moved aside when it is damaged.
import path from 'node:path';
import type { Clock } from '../../kernel/clock.js';
import { hasCode } from '../../kernel/errno.js';
import type { FilePort, OpenFile } from '../../checkpoint/file-port.js';

/** Damaged files kept beside it, for an operator that wants to know what happened. */
const MAX_ASIDE = 5;

/** The steps of the next `replace` that do not depend on its bytes. */
interface Prepared {
  /** The new file, empty; undefined when it could not be made. */
  readonly file: Promise<OpenFile | undefined>;
  /** Whether the current generation has a second name. */
  readonly isLinked: Promise<boolean>;
}

/** The bytes of a file on the disk, in two generations. */
export class Generations {
  readonly #files: FilePort;
  readonly #clock: Clock;
  readonly #folder: string;
  #prepared: Prepared | undefined;
  #isReplacing = false;
  /** The sizes that the current one may have: those before and after a `replace` that is under way. */
  #sizes: readonly number[] = [];
  readonly current: string;
  readonly previous: string;

  constructor(files: FilePort, file: string, clock: Clock) {
    this.#files = files;
    this.#clock = clock;
    this.#folder = path.dirname(file);
    this.current = file;
    this.previous = `${file}.previous`;
  }

  /** Whether there is a current one, a regular file as long as the one that was read or written. */
  async isThere(): Promise<boolean> {
    const size = await this.#files.sizeOf(this.current);
    return size !== undefined && this.#sizes.includes(size);
  }

  /** The bytes of one of the two, or undefined when there is none. */
  async read(file: string, maxBytes: number): Promise<Buffer | undefined> {
    const bytes = await this.#files.read(file, maxBytes);
    if (file === this.current) this.#sizes = bytes === undefined ? [] : [bytes.length];
    return bytes;
  }

  /**
   * Prepares the next `replace`, while its bytes are not known yet. Does nothing while one is under way or when it was done
   * already. A step that fails here is done by `replace`, which reports the problem. Never rejects.
   */
  async prepare(): Promise<void> {
    if (this.#prepared !== undefined || this.#isReplacing) return;
    const file = this.#files.create(this.#fresh).catch(() => undefined);
    const isLinked = this.#files.link(this.current, this.#second).then(
      () => true,
      () => false,
    );
    this.#prepared = { file, isLinked };
    await Promise.all([file, isLinked]);
  }

  /**
   * Makes `bytes` the current generation and the current one the previous. Resolves when that survives a power cut;
   * cut short at any point, the old or the new generation is there, whole. Makes the folder where it is missing. Only one
   * at a time.
   */
  async replace(bytes: Uint8Array): Promise<void> {
    this.#isReplacing = true;
    const prepared = this.#prepared;
    this.#prepared = undefined;
    try {
      await this.#replace(bytes, prepared);
    } catch (failure) {
      if (!hasCode(failure, 'ENOENT')) throw failure;
      // The folder is gone, or the file made in it.
      await this.#files.makeDirectory(this.#folder);
      await this.#files.syncDirectory(path.dirname(this.#folder));
      await this.#replace(bytes, undefined);
    } finally {
      this.#isReplacing = false;
    }
  }

  async #replace(bytes: Uint8Array, prepared: Prepared | undefined): Promise<void> {
    const file = (await prepared?.file) ?? (await this.#files.create(this.#fresh));
    const before = this.#sizes;
    try {
      await file.write(bytes);
      await file.sync();
      await this.#keepPrevious((await prepared?.isLinked) === true);
      this.#sizes = [...before, bytes.length];
      await this.#files.rename(this.#fresh, this.current).catch((failure: unknown) => {
        this.#sizes = before;
        throw failure;
      });
      this.#sizes = [bytes.length];
      await this.#files.syncDirectory(this.#folder);
    } catch (failure) {
      // The part that was written may be filling the disk.
      await this.#files.remove(this.#fresh).catch(() => undefined);
      throw failure;
    } finally {
      // Nobody waits for it: the bytes are on the disk.
      void file.close().catch(() => undefined);
    }
  }

  get #fresh(): string {
    return `${this.current}.tmp`;
  }

  get #second(): string {
    return `${this.previous}.tmp`;
  }

  /** By a second name, so that the current one is never missing. */
  async #keepPrevious(isLinked: boolean): Promise<void> {
    if (!isLinked) {
      try {
        await this.#files.link(this.current, this.#second);
      } catch (failure) {
        if (hasCode(failure, 'ENOENT')) return;
        if (!hasCode(failure, 'EEXIST')) throw failure;
        // Left over from a write that was cut short.
        await this.#files.remove(this.#second);
        await this.#files.link(this.current, this.#second);
      }
    }
    await this.#files.rename(this.#second, this.previous);
  }

  /**
   * Puts a damaged file aside, readable for us alone, and drops the oldest of those put aside.
   *
   * @param how `moved`: it is gone from where it was; `kept`: it is there still, too, until it is written over
   * @returns its new name, without the folder
   */
  async moveAside(file: string, how: 'moved' | 'kept'): Promise<string> {
    const prefix = `${path.basename(this.current)}.corrupt-`;
    const kept = (await this.#files.list(this.#folder))
      .map((entry) => entry.name)
      .filter((each) => each.startsWith(prefix))
      .sort();
    const time = new Date(this.#clock.wall()).toISOString().replaceAll(':', '-');
    let name = prefix + time;
    for (let more = 2; kept.includes(name); more += 1) name = `${prefix}${time}-${more}`;
    const aside = path.join(this.#folder, name);
    await (how === 'moved' ? this.#files.rename(file, aside) : this.#files.link(file, aside));
    await this.#files.restrict(aside).catch(() => undefined);
    for (const old of kept.slice(0, Math.max(0, kept.length + 1 - MAX_ASIDE))) {
      await this.#files.remove(path.join(this.#folder, old)).catch(() => undefined);
    }
    return name;
  }
}
