// The file of events, over the same one-at-a-time operations as the rest of `state/`.
import path from 'node:path';
import type { FilePort } from '../../checkpoint/file-port.js';
import type { JournalFile } from '../../journal/ports.js';
import { writeWhole } from './write-whole.js';

/**
 * Events in `file`. Opened for each append: when the file or its folder is removed, a new one is made.
 *
 * @param files operations on the disk, one at a time
 */
export function journalFile(files: FilePort, file: string): JournalFile {
  const folder = path.dirname(file);
  return {
    room: () => files.room(folder).catch(() => undefined),
    readTail: (maxBytes) => files.readTail(file, maxBytes),
    append: async (text) => {
      const end = await files.append(file);
      try {
        await end.write(Buffer.from(text));
      } finally {
        await end.close();
      }
    },
    replace: async (text) => {
      const fresh = `${file}.tmp`;
      await writeWhole(files, fresh, Buffer.from(text));
      await files.rename(fresh, file);
      await files.syncDirectory(folder);
    },
  };
}
