// Device lists as immutable files, named by the hash of their bytes.
import path from 'node:path';
import type { FilePort } from '../../checkpoint/file-port.js';
import type { ListFiles } from '../../checkpoint/ports.js';
import { hasCode } from '../../kernel/errno.js';
import { writeWhole } from './write-whole.js';

const NAME = /^[0-9a-f]{64}$/;

/**
 * Lists in `folder`, which is made when the first is written.
 *
 * @param files operations on the disk, one at a time
 */
export function deviceListFiles(files: FilePort, folder: string): ListFiles {
  return {
    write: async (lists) => {
      const fresh = path.join(folder, 'list.tmp');
      const isNew = await makeFolder(files, folder);
      if (isNew) await files.syncDirectory(path.dirname(folder));
      for (const [sha256, bytes] of lists) {
        await writeWhole(files, fresh, bytes);
        await files.rename(fresh, path.join(folder, sha256));
      }
      await files.syncDirectory(folder);
      return isNew;
    },
    read: (sha256, maxBytes) => files.read(path.join(folder, sha256), maxBytes).catch(() => undefined),
    entries: async () => (await files.list(folder)).filter(({ name }) => NAME.test(name)),
    sizeOf: (sha256) => files.sizeOf(path.join(folder, sha256)),
    room: () => files.room(path.dirname(folder)).catch(() => undefined),
    remove: (sha256) => files.remove(path.join(folder, sha256)),
  };
}

async function makeFolder(files: FilePort, folder: string): Promise<boolean> {
  try {
    return await files.makeDirectory(folder);
  } catch (failure) {
    if (!hasCode(failure, 'ENOENT')) throw failure;
    // The state folder itself is missing: a first start, or somebody removed it.
    await files.makeDirectory(path.dirname(folder));
    await files.syncDirectory(path.dirname(path.dirname(folder)));
    return files.makeDirectory(folder);
  }
}
