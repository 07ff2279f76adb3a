// lowdb's Low over an adapter of ours: lowdb's own writers neither sync nor keep a previous generation, and take damaged
// files for good ones.
import path from 'node:path';
import { Low, type Adapter } from 'lowdb';
import { asError, sleep, type Clock } from '../../kernel/clock.js';
import { hasCode } from '../../kernel/errno.js';
import type { FilePort } from '../../checkpoint/file-port.js';
import type { Codec, DocumentFile, Found } from '../../checkpoint/ports.js';
import { Generations } from './generations.js';

/** Larger than any checkpoint: 1,024 plugins take 2 MiB. */
const MAX_BYTES = 64 * 1024 * 1024;
/** Errors of the moment, which say nothing about the file. */
const PASSING = ['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN', 'EINTR'];
const ATTEMPTS = 4;
const PAUSE_MS = 50;

type Look<T> =
  | { readonly kind: 'document'; readonly document: T; readonly bytes: number }
  | {
      readonly kind: 'newer' | 'unusable';
      readonly problem: string;
      readonly bootId?: string;
      readonly isNoFile?: true;
    }
  | { readonly kind: 'missing' };

class GenerationsAdapter<T> implements Adapter<T> {
  readonly #generations: Generations;
  readonly #codec: Codec<T>;
  readonly #clock: Clock;
  /** Damaged files that could not be kept: they must be elsewhere before anything is written over them. */
  readonly #inTheWay = new Set<string>();
  found: Found = { source: 'none', problems: [], lostBoots: [] };
  bytes = 0;

  constructor(generations: Generations, codec: Codec<T>, clock: Clock) {
    this.#generations = generations;
    this.#codec = codec;
    this.#clock = clock;
  }

  /** @throws when the files could not be looked at for a reason that will pass */
  async read(): Promise<T | null> {
    const { current, previous } = this.#generations;
    const problems: string[] = [];
    const damaged: { readonly file: string; readonly problem: string; readonly isNoFile?: true }[] = [];
    const lostBoots: (string | undefined)[] = [];
    for (const [source, file] of [
      ['current', current],
      ['previous', previous],
    ] as const) {
      const look = await this.#look(file);
      if (look.kind === 'document') {
        for (const one of damaged) problems.push(one.problem, await this.#keep(one.file, 'moved'));
        if (source === 'previous' && problems.length === 0) problems.push(`${path.basename(current)} is missing`);
        this.found = { source, problems, lostBoots };
        this.bytes = look.bytes;
        return look.document;
      }
      if (look.kind === 'missing') continue;
      lostBoots.push(look.bootId);
      if (look.kind === 'newer') {
        for (const one of damaged) problems.push(one.problem, await this.#keep(one.file, 'moved'));
        problems.push(look.problem);
        this.found = { source: 'newer', problems, lostBoots };
        return null;
      }
      damaged.push({ ...look, file });
    }
    // They stay where they are until the first write takes their place: a start that is cut short before it may not leave
    // a folder in which nothing says that there were leases.
    for (const { file, problem, isNoFile } of damaged) {
      problems.push(problem, await this.#keep(file, isNoFile === true ? 'moved' : 'kept'));
    }
    this.found = { source: 'none', problems, lostBoots };
    return null;
  }

  async write(document: T): Promise<void> {
    const bytes = this.#codec.encode(document, MAX_BYTES);
    if (bytes.length > MAX_BYTES) {
      throw new Error(
        `the checkpoint would have ${String(bytes.length)} bytes, and a start reads ${String(MAX_BYTES)}`,
      );
    }
    for (const file of this.#inTheWay) {
      await this.#generations
        .moveAside(file, 'kept')
        .catch(() => this.#generations.moveAside(file, 'moved'))
        .catch((failure: unknown) => {
          if (!hasCode(failure, 'ENOENT')) throw failure;
        });
      this.#inTheWay.delete(file);
    }
    await this.#generations.replace(bytes);
    this.bytes = bytes.length;
  }

  isThere(): Promise<boolean> {
    return this.#generations.isThere();
  }

  async expect(): Promise<void> {
    if (this.#inTheWay.size === 0) await this.#generations.prepare();
  }

  async #look(file: string): Promise<Look<T>> {
    const name = path.basename(file);
    let bytes: Buffer | undefined;
    try {
      bytes = await this.#patiently(file);
    } catch (failure) {
      if (hasCode(failure, ...PASSING)) throw failure;
      const problem = `${name} cannot be read: ${asError(failure).message}`;
      return { kind: 'unusable', problem, ...(hasCode(failure, 'EFTYPE') ? { isNoFile: true } : {}) };
    }
    if (bytes === undefined) return { kind: 'missing' };
    const decoded = this.#codec.decode(bytes);
    if (decoded.kind === 'document') return { ...decoded, bytes: bytes.length };
    if (decoded.kind === 'newer')
      return { kind: 'newer', problem: `${name} has format ${decoded.format}, which is newer than this version` };
    const { problem, ...boot } = decoded;
    return { ...boot, kind: 'unusable', problem: `${name} cannot be used: ${problem}` };
  }

  async #patiently(file: string): Promise<Buffer | undefined> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#generations.read(file, MAX_BYTES);
      } catch (failure) {
        if (attempt === ATTEMPTS || !hasCode(failure, ...PASSING)) throw failure;
        await sleep(this.#clock, PAUSE_MS);
      }
    }
  }

  async #keep(file: string, how: 'moved' | 'kept'): Promise<string> {
    try {
      return `it is kept as ${await this.#generations.moveAside(file, how)}`;
    } catch (failure) {
      this.#inTheWay.add(file);
      return `it could not be moved aside: ${asError(failure).message}`;
    }
  }
}

/** One document in two generations on the disk: the `read` and `write` of Low call those of GenerationsAdapter above. */
export class LowdbFile<T> extends Low<T> implements DocumentFile<T> {
  readonly #adapter: GenerationsAdapter<T>;

  /**
   * @param files operations on the disk, one at a time
   * @param file where the current generation is; its folder is made when it is first written
   * @param empty the document before anything was read
   */
  constructor(files: FilePort, file: string, codec: Codec<T>, clock: Clock, empty: T) {
    const adapter = new GenerationsAdapter(new Generations(files, file, clock), codec, clock);
    super(adapter, empty);
    this.#adapter = adapter;
  }

  get bytes(): number {
    return this.#adapter.bytes;
  }

  isThere(): Promise<boolean> {
    return this.#adapter.isThere();
  }

  expect(): Promise<void> {
    return this.#adapter.expect();
  }

  get found(): Found {
    return this.#adapter.found;
  }
}
