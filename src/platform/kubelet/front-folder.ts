// Our folder in a directory of a kubelet's, as an earlier life of the broker may have left it.
import path from 'node:path';
import { readlinkSync, statusOf } from '../fs/name-calls.js';
import { inDirectory } from '../fs/pinned-directory.js';
import { ownFolder, type PrivateFolder } from '../fs/private-folder.js';
import { FRONT_FOLDER, FRONT_MARK } from './front-paths.js';

/** The codes of a name that is no link, or is not there. */
const NO_LINK: ReadonlySet<string | undefined> = new Set(['EINVAL', 'ENOENT', 'ENOTDIR']);

/**
 * Where a link leads; undefined where the name is no link, or nothing has it.
 *
 * @throws NodeJS.ErrnoException when it cannot be looked at
 */
export function linkAt(at: string): string | undefined {
  try {
    return readlinkSync(at);
  } catch (failure) {
    if (NO_LINK.has((failure as NodeJS.ErrnoException).code)) return undefined;
    throw failure;
  }
}

/**
 * Does something with our folder there; undefined where there is none.
 *
 * @throws NodeJS.ErrnoException when the directory may not be read
 */
export function withFolder<T>(parent: string, work: (folder: PrivateFolder) => T): T | undefined {
  if (statusOf(path.join(parent, FRONT_FOLDER)) === undefined) return undefined;
  return inDirectory(parent, (outer) => {
    const folder = ownFolder(outer, FRONT_FOLDER, FRONT_MARK);
    try {
      return folder === undefined ? undefined : work(folder);
    } finally {
      folder?.close();
    }
  });
}
