// The one way in which a new file gets onto the disk.
import type { FilePort } from '../../checkpoint/file-port.js';

/**
 * Writes a file that is on the disk as a whole when this resolves; its name is durable only after syncDirectory. On
 * rejection the written part is removed again, because it may be what fills the disk.
 */
export async function writeWhole(files: FilePort, path: string, bytes: Uint8Array): Promise<void> {
  const file = await files.create(path);
  try {
    try {
      await file.write(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
  } catch (failure) {
    await files.remove(path).catch(() => undefined);
    throw failure;
  }
}
