// The directory of CDI files. Engines read it at any moment, so a file is whole or not there.
import fs from 'node:fs';
import { mkdir, opendir, readFile, rename, unlink } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import type { CdiDirectory } from '../../cdi/ports.js';
import { umask } from './umask.js';

// Each lease has a file of its own: descriptors cost less than file handles.
const opened = promisify(fs.open);
const written = promisify(fs.write);
const moded = promisify(fs.fchmod);
const closed = promisify(fs.close);

/** The directory is readable for every program that starts containers. */
const DIRECTORY_MODE = 0o755;
const FILE_MODE = 0o644;
/** Names that are read at all, and at a time. A file of ours behind them is still found by its name. */
const MOST_NAMES = 50_000;
const NAMES_AT_ONCE = 1024;

/** Opens nothing yet. */
export function cdiDirectory(directory: string): CdiDirectory {
  const at = (name: string): string => path.join(directory, name);
  // One operation less for each lease: nobody changes the umask while we run.
  let isModeSet: boolean | undefined;
  const write = (name: string, bytes: Buffer): Promise<void> => {
    isModeSet ??= ((umask() ?? FILE_MODE) & FILE_MODE) === 0;
    return writeNew(at(name), bytes, isModeSet);
  };
  return {
    path: directory,
    prepare: async () => {
      await mkdir(directory, { recursive: true, mode: DIRECTORY_MODE });
    },
    names: () => namesIn(directory),
    text: (name) => readFile(at(name), 'utf8').catch(() => undefined),
    write: async (name, text) => {
      const bytes = Buffer.from(text);
      try {
        await write(name, bytes);
      } catch (failure) {
        const { code } = failure as NodeJS.ErrnoException;
        // Left by a broker that was killed, or the directory was removed meanwhile.
        if (code === 'EEXIST') await unlink(at(name));
        else if (code === 'ENOENT') await mkdir(directory, { recursive: true, mode: DIRECTORY_MODE });
        else throw failure;
        await write(name, bytes);
      }
    },
    rename: (from, to) => rename(at(from), at(to)),
    remove: async (name) => {
      try {
        await unlink(at(name));
      } catch (failure) {
        if ((failure as NodeJS.ErrnoException).code !== 'ENOENT') throw failure;
      }
    },
  };
}

/** The names in a directory, a thousand at a time: somebody may have filled it. @throws NodeJS.ErrnoException */
async function namesIn(directory: string): Promise<string[]> {
  const names: string[] = [];
  const entries = await opendir(directory, { bufferSize: NAMES_AT_ONCE });
  try {
    // Those that were read with the first one are at hand: a promise for each would cost a start with many leases milliseconds.
    for (let next = await entries.read(); next !== null && names.length < MOST_NAMES;) {
      names.push(next.name);
      next = names.length % NAMES_AT_ONCE === 0 ? await entries.read() : entries.readSync();
    }
  } finally {
    await entries.close();
  }
  return names;
}

/**
 * A new file; a link of that name is not followed. The mode is set as given, under any umask.
 *
 * @param isModeSet the umask takes nothing of the mode
 */
async function writeNew(file: string, bytes: Buffer, isModeSet: boolean): Promise<void> {
  const fd = await opened(file, 'wx', FILE_MODE);
  try {
    for (let at = 0; at < bytes.length;) at += (await written(fd, bytes, at)).bytesWritten;
    if (!isModeSet) await moded(fd, FILE_MODE);
  } catch (failure) {
    await unlink(file).catch(() => undefined);
    throw failure;
  } finally {
    await closed(fd);
  }
}
