// The directory of CDI files. Engines read it at any moment, so a file is whole or not there.
import { mkdir, open, readdir, readFile, rename, unlink } from 'node:fs/promises';
import path from 'node:path';
import type { CdiDirectory } from '../../cdi/ports.js';

/** Everybody who starts containers reads it. */
const DIRECTORY_MODE = 0o755;
const FILE_MODE = 0o644;

/** Opens nothing yet. */
export function cdiDirectory(directory: string): CdiDirectory {
  const at = (name: string): string => path.join(directory, name);
  return {
    path: directory,
    prepare: async () => {
      await mkdir(directory, { recursive: true, mode: DIRECTORY_MODE });
    },
    names: () => readdir(directory),
    text: (name) => readFile(at(name), 'utf8').catch(() => undefined),
    put: async (name, writtenAs, text) => {
      try {
        await write(at(writtenAs), text);
      } catch (failure) {
        const { code } = failure as NodeJS.ErrnoException;
        // Left by a broker that was killed, or the directory was removed meanwhile.
        if (code === 'EEXIST') await unlink(at(writtenAs));
        else if (code === 'ENOENT') await mkdir(directory, { recursive: true, mode: DIRECTORY_MODE });
        else throw failure;
        await write(at(writtenAs), text);
      }
      await rename(at(writtenAs), at(name));
    },
    remove: async (name) => {
      try {
        await unlink(at(name));
      } catch (failure) {
        if ((failure as NodeJS.ErrnoException).code !== 'ENOENT') throw failure;
      }
    },
  };
}

/** A new file; a link of that name is not followed. The mode is what it says, whatever the umask is. */
async function write(file: string, text: string): Promise<void> {
  const handle = await open(file, 'wx', FILE_MODE);
  try {
    await handle.writeFile(text);
    await handle.chmod(FILE_MODE);
  } catch (failure) {
    await unlink(file).catch(() => undefined);
    throw failure;
  } finally {
    await handle.close();
  }
}
