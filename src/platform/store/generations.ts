// A file with a previous generation: replaced whole or not at all, and moved aside when it is damaged.
import path from 'node:path';
import type { Clock } from '../../kernel/clock.js';
import type { FilePort } from '../../checkpoint/file-port.js';
import { writeWhole } from './write-whole.js';

/** Damaged files kept beside it, for whoever wants to know what happened. */
const MAX_ASIDE = 5;

/** The bytes of a file on the disk, in two generations. */
export class Generations {
  readonly #files: FilePort;
  readonly #clock: Clock;
  readonly #folder: string;
  readonly current: string;
  readonly previous: string;

  constructor(files: FilePort, file: string, clock: Clock) {
    this.#files = files;
    this.#clock = clock;
    this.#folder = path.dirname(file);
    this.current = file;
    this.previous = `${file}.previous`;
  }

  /** Whether there is a current one. */
  async isThere(): Promise<boolean> {
    return (await this.#files.list(this.#folder)).includes(path.basename(this.current));
  }

  /** The bytes of one of the two, or undefined when there is none. */
  read(file: string, maxBytes: number): Promise<Buffer | undefined> {
    return this.#files.read(file, maxBytes);
  }

  /**
   * Makes `bytes` the current generation and the current one the previous. Resolves when that survives a power cut;
   * cut short at any point, the old or the new generation is there, whole. Makes the folder where it is missing.
   */
  async replace(bytes: Uint8Array): Promise<void> {
    const fresh = `${this.current}.tmp`;
    try {
      await writeWhole(this.#files, fresh, bytes);
    } catch (failure) {
      if (!isMissing(failure)) throw failure;
      await this.#files.makeDirectory(this.#folder);
      await this.#files.syncDirectory(path.dirname(this.#folder));
      await writeWhole(this.#files, fresh, bytes);
    }
    await this.#keepPrevious();
    await this.#files.rename(fresh, this.current);
    await this.#files.syncDirectory(this.#folder);
  }

  /** By a second name, so that the current one is never missing. */
  async #keepPrevious(): Promise<void> {
    const second = `${this.previous}.tmp`;
    try {
      await this.#files.link(this.current, second);
    } catch (failure) {
      if (isMissing(failure)) return;
      if (!isTaken(failure)) throw failure;
      // Left over from a write that was cut short.
      await this.#files.remove(second);
      await this.#files.link(this.current, second);
    }
    await this.#files.rename(second, this.previous);
  }

  /**
   * Moves a damaged file out of the way, readable for us alone, and drops the oldest of those kept.
   *
   * @returns its new name, without the folder
   */
  async moveAside(file: string): Promise<string> {
    const prefix = `${path.basename(this.current)}.corrupt-`;
    const kept = (await this.#files.list(this.#folder)).filter((name) => name.startsWith(prefix)).sort();
    const time = new Date(this.#clock.wall()).toISOString().replaceAll(':', '-');
    let name = prefix + time;
    for (let more = 2; kept.includes(name); more += 1) name = `${prefix}${time}-${more}`;
    await this.#files.rename(file, path.join(this.#folder, name));
    await this.#files.restrict(path.join(this.#folder, name)).catch(() => undefined);
    for (const old of kept.slice(0, Math.max(0, kept.length + 1 - MAX_ASIDE))) {
      await this.#files.remove(path.join(this.#folder, old)).catch(() => undefined);
    }
    return name;
  }
}

function isMissing(failure: unknown): boolean {
  return failure instanceof Error && (failure as NodeJS.ErrnoException).code === 'ENOENT';
}

function isTaken(failure: unknown): boolean {
  return failure instanceof Error && (failure as NodeJS.ErrnoException).code === 'EEXIST';
}
