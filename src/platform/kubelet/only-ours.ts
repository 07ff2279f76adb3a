// Whether ordinary users may replace files in a directory of the kubelet's.
import { lstatSync, realpathSync, statSync, type Stats } from 'node:fs';
import path from 'node:path';
import { ifPossible } from '../../kernel/if-possible.js';
import { isOursOrRoots } from '../process/own-uid.js';

/** Group and others may write. With an ACL the bits of the group are the most that it gives anybody. */
const OTHERS_MAY_WRITE = 0o022;
const ALL_MAY_WRITE = 0o002;
const STICKY = 0o1000;

/**
 * Makes sure that nobody but root and our own user may write a directory, or one above it up to the root, as it is spelled and as
 * it is with links followed: others could put another folder in the place of ours, and another kubelet.sock there. One that is
 * sticky, as /tmp is, may stand above where the entry in it is root's or ours. Missing directories are not looked at.
 *
 * @throws Error with a sentence when ordinary users may
 */
export function needOnlyOurs(directory: string): void {
  const spelled = path.resolve(directory);
  const real = ifPossible(() => realpathSync(spelled));
  for (const way of new Set([spelled, real ?? spelled])) {
    for (let [at, entry] = [way, '']; at !== entry; [at, entry] = [path.dirname(at), at]) checkOne(at, entry);
  }
}

/** @param entry the next name of the path in it; empty: the last directory */
function checkOne(directory: string, entry: string): void {
  const status = ifPossible(() => statSync(directory));
  if (status === undefined) return;
  const who = whoElse(status);
  if (who === undefined || (isOursOrRoots(status.uid) && (status.mode & STICKY) !== 0 && isEntryOurs(entry))) return;
  throw new Error(
    `${directory} ${who}, who could stand in for the kubelet and for its plugins: make it root's (chown root:root, chmod go-w)`,
  );
}

function whoElse({ uid, gid, mode }: Stats): string | undefined {
  if (!isOursOrRoots(uid)) return `is uid ${String(uid)}'s`;
  if ((mode & OTHERS_MAY_WRITE) === 0) return undefined;
  if ((mode & ALL_MAY_WRITE) !== 0) return 'may be written by everybody';
  return `may be written by group ${String(gid)}, or by those that its ACL names`;
}

function isEntryOurs(entry: string): boolean {
  const status = entry === '' ? undefined : ifPossible(() => lstatSync(entry));
  return status !== undefined && isOursOrRoots(status.uid);
}
