// Files as a port: the few operations that the durable store needs, each small enough to be cut, failed or hung alone.
import type { DiskRoom } from '../kernel/disk-room.js';

/** A file that `nodeFiles` (platform/store/node-files) opened for writing. Every method is one operation on the disk. */
export interface OpenFile {
  /** Writes all of `bytes`, or rejects; a part may be on the file then. */
  write(bytes: Uint8Array): Promise<void>;
  /** Resolves when the written bytes survive a power cut (fdatasync). The name of the file may still be lost. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** A name in a directory. */
export interface NamedEntry {
  readonly name: string;
  /** Whether it is a regular file: no link, directory, FIFO or device node. */
  readonly isFile: boolean;
}

/**
 * Operations on files below `state/`: `nodeFiles` (platform/store/node-files), one at a time (platform/store/file-lane).
 * Rejections carry an errno name in `code` (ENOSPC, EROFS, EIO, EMFILE, …). Files are made with mode 0600, directories with 0700;
 * links are never followed at the last part of a written path.
 */
export interface FilePort {
  /** Makes one directory. False: it was there already. */
  makeDirectory(path: string): Promise<boolean>;
  /** The whole file, or undefined when there is none. Rejects with EFBIG above `maxBytes`. */
  read(path: string, maxBytes: number): Promise<Buffer | undefined>;
  /** The last `maxBytes` of a file (all of a shorter one), or undefined when there is none. */
  readTail(path: string, maxBytes: number): Promise<Buffer | undefined>;
  /** Names in a directory, or none when there is no such directory. */
  list(path: string): Promise<readonly NamedEntry[]>;
  /** The bytes of a regular file; undefined for anything else, a link too, and where there is nothing. */
  sizeOf(path: string): Promise<number | undefined>;
  /** The room of the disk of a directory (statfs): free for others than root. */
  room(path: string): Promise<DiskRoom>;
  /** Opens a new file for writing; a file of that name is removed, and a directory is moved aside. */
  create(path: string): Promise<OpenFile>;
  /** Opens a file for writing at its end, making it where there is none. */
  append(path: string): Promise<OpenFile>;
  /** Renames a file at once, replacing the one that had the name. */
  rename(from: string, to: string): Promise<void>;
  /** Gives a file a second name. Rejects with EEXIST when the name is taken. */
  link(from: string, to: string): Promise<void>;
  /** Removes a name; fine when there is none. */
  remove(path: string): Promise<void>;
  /** Sets mode 0600. */
  restrict(path: string): Promise<void>;
  /** Resolves when the names made, changed and removed in a directory survive a power cut. */
  syncDirectory(path: string): Promise<void>;
}
