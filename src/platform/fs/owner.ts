import { lstatSync } from 'node:fs';
import path from 'node:path';

/**
 * Whose a path is: the owner of its directory, who can fill it with whatever there is, or, in a directory of somebody
 * trusted, whoever made the file. Nobody's (-1) when it cannot be seen.
 */
export function ownerOf(file: string, isTrusted: (uid: number) => boolean): number {
  try {
    const { uid } = lstatSync(path.dirname(file));
    return isTrusted(uid) ? lstatSync(file).uid : uid;
  } catch {
    return -1; // it has gone meanwhile
  }
}
