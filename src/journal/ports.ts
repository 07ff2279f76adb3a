// The ports of the journal to the disk.
import type { DiskRoom } from '../kernel/disk-room.js';

/** The file of events: `journalFile` (platform/store/journal-file). Nobody waits for it: events are a record, not a promise. */
export interface JournalFile {
  /** The last bytes, or undefined when there is no file. */
  readTail(maxBytes: number): Promise<Buffer | undefined>;
  /** Adds text at the end. On rejection a part of it may be there. */
  append(text: string): Promise<void>;
  /** The room of the disk; undefined when that is not known. */
  room(): Promise<DiskRoom | undefined>;
  /** Puts a new file in place of the old one; on rejection the old one is there. */
  replace(text: string): Promise<void>;
}
