// Small files that are whole or not there, even if the process is killed.
import { open, readFile, rename } from 'node:fs/promises';
import path from 'node:path';

/** The text of a file, or undefined when there is none. */
export async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (failure) {
    if ((failure as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw failure;
  }
}

/** Puts `text` in the place of a file: written beside it, synced, renamed, and the directory synced. Mode 0600. */
export async function replaceFile(file: string, text: string): Promise<void> {
  const beside = `${file}.new`;
  const handle = await open(beside, 'w', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(beside, file);
  const directory = await open(path.dirname(file), 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
