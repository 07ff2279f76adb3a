import path from 'node:path';
import type { FilePort, NamedEntry, OpenFile } from '../../src/checkpoint/file-port.js';
import type { DiskRoom } from '../../src/kernel/disk-room.js';

/** The fate of one operation that is not done. */
export type Fault = 'ENOSPC' | 'EROFS' | 'EIO' | 'EMFILE' | 'EACCES' | 'hang';

interface Inode {
  live: Buffer;
  /** The bytes that a power cut leaves. */
  synced: Buffer;
}

interface Folder {
  readonly live: Map<string, Inode>;
  readonly synced: Map<string, Inode>;
}

/**
 * Files in memory that forget, as a disk does at a power cut, whatever was not synced: contents, and names apart from
 * contents. Every operation has a number, at which it can be failed, hung, or the power cut.
 */
export class FakeDisk implements FilePort {
  readonly #folders = new Map<string, Folder>([['/', { live: new Map(), synced: new Map() }]]);
  readonly #syncedFolders = new Set(['/']);
  readonly #faults = new Map<number, Fault>();
  readonly #hanging: (() => void)[] = [];
  #everything: Fault | undefined;
  #cutBefore = Infinity;
  #isDark = false;
  #outstanding = 0;
  /** Operations so far, as `rename /state/a /state/b`. */
  readonly operations: string[] = [];
  /** The most operations that were under way at one time. */
  mostOutstanding = 0;

  /** The room it says that it has. */
  space: DiskRoom = { freeBytes: 2 ** 40, totalBytes: 2 ** 40 };

  /** Fails or hangs the operation with this number, counted from 1. */
  failAt(number: number, fault: Fault): void {
    this.#faults.set(number, fault);
  }

  /** Fails or hangs all operations from now on; undefined ends it and lets hanging ones go on. */
  failAll(fault: Fault | undefined): void {
    this.#everything = fault;
    if (fault === undefined) for (const goOn of this.#hanging.splice(0)) goOn();
  }

  /** Lets the operations that hang go on. */
  release(): void {
    for (const goOn of this.#hanging.splice(0)) goOn();
  }

  /** How many operations hang. */
  get hanging(): number {
    return this.#hanging.length;
  }

  /** Cuts the power just before the operation with this number. */
  cutBefore(number: number): void {
    this.#cutBefore = number;
  }

  /**
   * The disk as it is found after a power cut.
   *
   * @param survives asked for everything that was not synced: did it reach the disk all the same? Default: nothing did
   */
  afterPowerCut(survives: () => boolean = () => false): FakeDisk {
    const found = new FakeDisk();
    const inodes = new Map<Inode, Inode>();
    const contents = (inode: Inode): Inode => {
      let kept = inodes.get(inode);
      if (kept === undefined) {
        const torn = inode.live.subarray(0, Math.floor(inode.live.length / 2));
        const isSynced = inode.live === inode.synced;
        const bytes = !isSynced && survives() ? (survives() ? inode.live : torn) : inode.synced;
        kept = { live: bytes, synced: bytes };
        inodes.set(inode, kept);
      }
      return kept;
    };
    for (const [name, folder] of this.#folders) {
      if (!this.#syncedFolders.has(name) && !survives()) continue;
      const kept = found.#folder(name, true);
      found.#syncedFolders.add(name);
      for (const entry of new Set([...folder.live.keys(), ...folder.synced.keys()])) {
        const isSame = folder.live.get(entry) === folder.synced.get(entry);
        const inode = (isSame || survives() ? folder.live : folder.synced).get(entry);
        if (inode === undefined) continue;
        kept.live.set(entry, contents(inode));
        kept.synced.set(entry, contents(inode));
      }
    }
    return found;
  }

  /** The contents of a file now, without counting as an operation. */
  peek(file: string): Buffer | undefined {
    return this.#folders.get(path.dirname(file))?.live.get(path.basename(file))?.live;
  }

  /** Puts a file there, synced, without counting as an operation. */
  plant(file: string, bytes: Buffer): void {
    const folder = this.#folder(path.dirname(file), true);
    this.#syncedFolders.add(path.dirname(file));
    const inode = { live: bytes, synced: bytes };
    folder.live.set(path.basename(file), inode);
    folder.synced.set(path.basename(file), inode);
  }

  /** Names in a folder now, without counting as an operation. */
  names(folder: string): readonly string[] {
    return [...(this.#folders.get(folder)?.live.keys() ?? [])].sort();
  }

  /** Removes a folder and all in it, as somebody else would. */
  removeFolder(folder: string): void {
    for (const name of this.#folders.keys())
      if (name === folder || name.startsWith(`${folder}/`)) this.#folders.delete(name);
  }

  makeDirectory(folder: string): Promise<boolean> {
    return this.#operation(`mkdir ${folder}`, () => {
      if (this.#folders.has(folder)) return false;
      this.#folder(path.dirname(folder), false);
      this.#folders.set(folder, { live: new Map(), synced: new Map() });
      return true;
    });
  }

  read(file: string, maxBytes: number): Promise<Buffer | undefined> {
    return this.#operation(`read ${file}`, () => {
      const bytes = this.peek(file);
      if (bytes !== undefined && bytes.length > maxBytes) throw errno('EFBIG', file);
      return bytes === undefined ? undefined : Buffer.from(bytes);
    });
  }

  readTail(file: string, maxBytes: number): Promise<Buffer | undefined> {
    return this.#operation(`readTail ${file}`, () => {
      const bytes = this.peek(file);
      return bytes === undefined ? undefined : Buffer.from(bytes.subarray(Math.max(0, bytes.length - maxBytes)));
    });
  }

  list(folder: string): Promise<readonly NamedEntry[]> {
    const folders = (): string[] =>
      [...this.#folders.keys()].filter((one) => one !== '/' && path.dirname(one) === folder);
    return this.#operation(`list ${folder}`, () => [
      ...this.names(folder).map((name) => ({ name, isFile: true })),
      ...folders().map((one) => ({ name: path.basename(one), isFile: false })),
    ]);
  }

  room(folder: string): Promise<DiskRoom> {
    return this.#operation(`room ${folder}`, () => this.space);
  }

  sizeOf(file: string): Promise<number | undefined> {
    return this.#operation(`sizeOf ${file}`, () => this.peek(file)?.length);
  }

  create(file: string): Promise<OpenFile> {
    return this.#operation(`create ${file}`, () => {
      const inode = this.#inode(file);
      inode.live = Buffer.alloc(0);
      return this.#open(file, inode);
    });
  }

  append(file: string): Promise<OpenFile> {
    return this.#operation(`append ${file}`, () => this.#open(file, this.#inode(file)));
  }

  rename(from: string, to: string): Promise<void> {
    return this.#operation(`rename ${from} ${to}`, () => {
      const inode = this.#existing(from);
      const target = this.#folder(path.dirname(to), false).live;
      // POSIX: two names of one file stay both.
      if (target.get(path.basename(to)) === inode) return;
      target.set(path.basename(to), inode);
      this.#folder(path.dirname(from), false).live.delete(path.basename(from));
    });
  }

  link(from: string, to: string): Promise<void> {
    return this.#operation(`link ${from} ${to}`, () => {
      const inode = this.#existing(from);
      const target = this.#folder(path.dirname(to), false).live;
      if (target.has(path.basename(to))) throw errno('EEXIST', to);
      target.set(path.basename(to), inode);
    });
  }

  remove(file: string): Promise<void> {
    return this.#operation(`remove ${file}`, () => {
      this.#folders.get(path.dirname(file))?.live.delete(path.basename(file));
    });
  }

  restrict(file: string): Promise<void> {
    return this.#operation(`restrict ${file}`, () => void this.#existing(file));
  }

  syncDirectory(folder: string): Promise<void> {
    return this.#operation(`syncDirectory ${folder}`, () => {
      const { live, synced } = this.#folder(folder, false);
      synced.clear();
      for (const [name, inode] of live) synced.set(name, inode);
      for (const name of this.#folders.keys()) if (path.dirname(name) === folder) this.#syncedFolders.add(name);
    });
  }

  #open(file: string, inode: Inode): OpenFile {
    const add = (bytes: Uint8Array): void => void (inode.live = Buffer.concat([inode.live, bytes]));
    return {
      write: (bytes) =>
        this.#operation(
          `write ${file}`,
          () => add(bytes),
          () => add(bytes.subarray(0, bytes.length / 2)),
        ),
      sync: () => this.#operation(`sync ${file}`, () => void (inode.synced = inode.live)),
      close: () => this.#operation(`close ${file}`, () => undefined),
    };
  }

  #folder(name: string, isMade: boolean): Folder {
    let folder = this.#folders.get(name);
    if (folder === undefined) {
      if (!isMade) throw errno('ENOENT', name);
      folder = { live: new Map(), synced: new Map() };
      this.#folders.set(name, folder);
    }
    return folder;
  }

  #inode(file: string): Inode {
    const { live } = this.#folder(path.dirname(file), false);
    const inode = live.get(path.basename(file)) ?? { live: Buffer.alloc(0), synced: Buffer.alloc(0) };
    live.set(path.basename(file), inode);
    return inode;
  }

  #existing(file: string): Inode {
    const inode = this.#folders.get(path.dirname(file))?.live.get(path.basename(file));
    if (inode === undefined) throw errno('ENOENT', file);
    return inode;
  }

  #mustHavePower(name: string): void {
    if (this.#isDark) throw errno('EIO', `${name}: the power is off`);
  }

  /** @param partly what a failing write leaves behind */
  async #operation<T>(name: string, work: () => T, partly?: () => void): Promise<T> {
    this.operations.push(name);
    const number = this.operations.length;
    this.#outstanding += 1;
    this.mostOutstanding = Math.max(this.mostOutstanding, this.#outstanding);
    try {
      await Promise.resolve();
      if (number >= this.#cutBefore) this.#isDark = true;
      this.#mustHavePower(name);
      const fault = this.#faults.get(number) ?? this.#everything;
      if (fault === 'hang') await new Promise<void>((goOn) => this.#hanging.push(goOn));
      else if (fault !== undefined) {
        partly?.();
        throw errno(fault, name);
      }
      // The power may have gone while the operation hung.
      this.#mustHavePower(name);
      return work();
    } finally {
      this.#outstanding -= 1;
    }
  }
}

function errno(code: string, what: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: ${what}`), { code });
}
