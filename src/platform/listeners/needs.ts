// Without these no socket of ours can be made: the sentence says the remedy.
import { makeDirectory } from '../fs/directories.js';
import { PathTaken } from '../grpc/unix-listener.js';
import { groupId } from '../process/groups.js';

/** The number of the group that kubelet.sock is given to. @throws PathTaken when the machine has no such group */
export function gidOf(group: string | number | undefined): number | undefined {
  if (group === undefined || typeof group === 'number') return group;
  const gid = groupId(group);
  if (gid !== undefined) return gid;
  throw new PathTaken(
    `kubelet.sock cannot be given to the group ${group}: /etc/group has none of this name; make it (groupadd --system ${group}), or write its number as socket.group`,
  );
}

/** Makes a directory without which nobody can be served. @throws PathTaken with the remedy */
export function needDirectory(directory: string): void {
  try {
    makeDirectory(directory);
  } catch (failure) {
    throw new PathTaken(
      `${directory} cannot be made: ${(failure as Error).message}; let the user of the broker write there, or choose another place with --root or in the configuration (paths)`,
    );
  }
}
