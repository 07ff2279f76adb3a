// The one way in which a new file gets onto the disk, and its name.
import type { FilePort } from '../../checkpoint/file-port.js';

/**
 * Writes a file that is on the disk as a whole when this resolves; its name is durable only after {@link syncNames}. On
 * rejection what could be written is removed again, because it may be what fills the disk.
 */
export async function writeWhole(files: FilePort, path: string, bytes: Uint8Array): Promise<void> {
  const file = await files.create(path);
  try {
    try {
      await file.write(bytes);
    } finally {
      await file.close();
    }
  } catch (failure) {
    await files.remove(path).catch(() => undefined);
    throw failure;
  }
}

/** Resolves when the names made, changed and removed in a directory survive a power cut. */
export async function syncNames(files: FilePort, path: string): Promise<void> {
  const directory = await files.openDirectory(path);
  try {
    await directory.sync();
  } finally {
    // Nobody waits for it: a directory that is only read has nothing to write when it is closed.
    void directory.close().catch(() => undefined);
  }
}
