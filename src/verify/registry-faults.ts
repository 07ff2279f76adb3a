// Things that happen to the files of a registry on real nodes, done on purpose: for scenarios and for the library.
import { chmodSync, lchownSync, lstatSync, mkdirSync, readdirSync, renameSync, type Stats } from 'node:fs';
import path from 'node:path';
import { ifPossible } from '../kernel/if-possible.js';
import { removeTree } from '../platform/fs/remove-tree.js';
import { ownUid } from '../platform/process/own-uid.js';

/**
 * A directory goes and comes, with all that was in it; the new one, and the directories in it, which users were given to put
 * sockets in, have the owners and modes of the old. Out of sight first: the broker puts kubelet.sock back at once, and a
 * directory that fills while it is emptied stays. A directory in it that its user removes or exchanges meanwhile is not made.
 *
 * @throws NodeJS.ErrnoException where it cannot be moved
 */
export function replaceDirectory(directory: string): void {
  const aside = path.join(path.dirname(directory), `.${path.basename(directory)}-removed`);
  removeTree(aside);
  renameSync(directory, aside);
  const before = lstatSync(aside);
  const folders = readdirSync(aside, { withFileTypes: true }).filter(
    (entry) => entry.isDirectory() && !entry.name.startsWith('.'),
  );
  // Nobody else may enter it before all that is ours to make in it is there.
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  try {
    for (const { name } of folders) {
      const status = ifPossible(() => lstatSync(path.join(aside, name)));
      if (status?.isDirectory() !== true) continue;
      mkdirSync(path.join(directory, name), { mode: 0o700 });
      giveAs(path.join(directory, name), status);
    }
  } finally {
    // However it went, users keep the directory they had.
    giveAs(directory, before);
    removeTree(aside);
  }
}

/** Gives a directory the owner and mode of another one. */
function giveAs(directory: string, { uid, gid, mode }: Stats): void {
  if (uid !== ownUid() || gid !== process.getegid?.()) lchownSync(directory, uid, gid);
  chmodSync(directory, mode & 0o7777);
}
