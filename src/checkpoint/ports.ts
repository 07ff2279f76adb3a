// The store's ports to the disk: one document with generations, and a folder of device lists.
import type { DiskRoom } from '../kernel/disk-room.js';
import type { LedgerState } from '../model/lease.js';
import type { CheckpointView } from '../model/views.js';
import type { Decoded } from './decode.js';
import type { NamedEntry } from './file-port.js';

/** Between documents and bytes: `CheckpointCodec` (checkpoint/codec). */
export interface Codec<T> {
  /** @param most bytes that can be read again: dispensable parts are left out where there would be more */
  encode(document: T, most?: number): Buffer;
  /** Never throws. */
  decode(bytes: Buffer): Decoded<T>;
}

/** The result of reading the disk. */
export interface Found {
  /** The generation that was used; `newer`: one of a newer format is there and must be left alone. */
  readonly source: 'current' | 'previous' | 'none' | 'newer';
  /** One sentence for each file that could not be used: its problem and where it is now. */
  readonly problems: readonly string[];
  /** For each file that could not be used: the boot that it names, where that is legible. */
  readonly lostBoots: readonly (string | undefined)[];
}

/** The document in memory and the file below it: lowdb's `Low` over our adapter, LowdbFile (platform/store/lowdb-file). */
export interface DocumentFile<T> {
  /** The data that `write` writes and `read` replaces. */
  data: T;
  /** Size of the last generation read or written. */
  readonly bytes: number;
  /** The result of the last `read`. */
  readonly found: Found;
  /** Whether a file as long as the current generation is where that was written: somebody may have removed or changed it. */
  isThere(): Promise<boolean>;
  /** Takes the newest generation that is whole into `data`, and moves damaged ones aside. */
  read(): Promise<void>;
  /** Prepares for a write that comes soon, whatever it writes. Never rejects: problems show at the write. */
  expect(): Promise<void>;
  /** Resolves when `data`, as it was at the call, survives a power cut as a whole; on rejection the old one does. */
  write(): Promise<void>;
}

/** Device lists as immutable files named by the hash of their bytes: `deviceListFiles` (platform/store/device-list-files). */
export interface ListFiles {
  /** Resolves when all lists, by hash, survive a power cut. True: the folder had to be made, and was empty before. */
  write(lists: ReadonlyMap<string, Buffer>): Promise<boolean>;
  /** The contents under a hash, not checked; undefined when there is no file or it cannot be read. */
  read(sha256: string, maxBytes: number): Promise<Buffer | undefined>;
  /** All entries that have a hash for a name, whatever they are. */
  entries(): Promise<readonly NamedEntry[]>;
  /** The bytes of the file under a hash; undefined where there is none. */
  sizeOf(sha256: string): Promise<number | undefined>;
  remove(sha256: string): Promise<void>;
  /** The free bytes of the disk, for others than root, and all of it; undefined where it does not say. */
  room(): Promise<DiskRoom | undefined>;
}

/** The result of opening the checkpoint at a start. */
export interface OpenedCheckpoint {
  readonly view: CheckpointView;
  /** The highest event number that the checkpoint knows. */
  readonly eventSeq: number;
  /**
   * There are plugins, and all of them only count once they were probed: the machine was booted since, or the checkpoint is an
   * older generation.
   */
  readonly hints: boolean;
  /** The checkpoint was written in another boot. */
  readonly rebooted: boolean;
  /** The state of the leases; `unread`: the disk did not give the checkpoint, or it has a newer format. */
  readonly ledger: LedgerState | 'unread';
}
