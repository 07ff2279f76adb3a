// Small files that are whole or not there, even if the process is killed.
import path from 'node:path';
import { nodeFiles } from '../store/node-files.js';
import { writeWhole } from '../store/write-whole.js';

/** Far more than the facts of all drivers take. */
const MAX_BYTES = 16 * 1024 * 1024;
/** Something that is no file of ours, or far too large for one. */
const FOREIGN: ReadonlySet<string | undefined> = new Set(['EFTYPE', 'ELOOP', 'ENXIO', 'EFBIG']);

/** The text of a file, or undefined when there is none: something else of that name is not read, and is replaced by a write. */
export async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return (await nodeFiles.read(file, MAX_BYTES))?.toString('utf8');
  } catch (failure) {
    if (FOREIGN.has((failure as NodeJS.ErrnoException).code)) return undefined;
    throw failure;
  }
}

/** Puts `text` in the place of a file: written beside it, synced, renamed, and the directory synced. Mode 0600. */
export async function replaceFile(file: string, text: string): Promise<void> {
  const beside = `${file}.new`;
  await writeWhole(nodeFiles, beside, Buffer.from(text));
  await nodeFiles.rename(beside, file);
  await nodeFiles.syncDirectory(path.dirname(file));
}
