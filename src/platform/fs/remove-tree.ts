// Removing a directory with its contents, where others may write below it: each directory is opened without following a link, and
// its names are removed through that descriptor. A user that exchanges a directory for a link between two steps can lead removal
// by path elsewhere.
import path from 'node:path';
import { ifPossible } from '../../kernel/if-possible.js';
import { PinnedDirectory } from './pinned-directory.js';

/** Directories in each other; deeper ones stay. */
const MAX_DEPTH = 64;
/** A pinned directory gives so many names at a time, and a daemon that is about to end may make files in it meanwhile. */
const ATTEMPTS = 64;

/**
 * Removes a directory, if there is one, and its contents. Files that cannot be removed stay, as when somebody makes files as fast
 * as they are removed.
 *
 * @param directory absolute; nobody may exchange its parent
 * @returns whether nothing is left of it
 */
export function removeTree(directory: string): boolean {
  const parent = ifPossible(() => PinnedDirectory.openConfigured(path.dirname(directory)));
  if (parent === undefined) return true;
  try {
    return removeFrom(parent, path.basename(directory), 0);
  } finally {
    parent.close();
  }
}

function removeFrom(parent: PinnedDirectory, name: string, depth: number): boolean {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const status = ifPossible(() => parent.status(name));
    if (status === undefined) return true;
    if (!status.isDirectory()) ifPossible(() => parent.unlink(name));
    else if (depth === MAX_DEPTH || !hasEmptied(parent, name, depth)) return false;
    else parent.removeEmpty(name);
  }
  return false;
}

/** Removes the contents of a directory. Returns whether nothing stayed. */
function hasEmptied(parent: PinnedDirectory, name: string, depth: number): boolean {
  const folder = ifPossible(() => PinnedDirectory.open(parent.at(name)));
  if (folder === undefined) return true; // it is something else by now
  try {
    const names = ifPossible(() => folder.names()) ?? [];
    return names.filter((one) => !removeFrom(folder, one, depth + 1)).length === 0;
  } finally {
    folder.close();
  }
}
