// Users that may move the names of others' files in a directory.
import { statSync, type BigIntStats } from 'node:fs';
import { ifPossible } from '../../kernel/if-possible.js';
import type { Clock } from '../../kernel/clock.js';
import { isTrusted } from '../../model/ids.js';
import type { Door, NamesMove } from '../../model/plugin.js';
import { ownUid } from '../process/own-uid.js';

/** Group and others may write. With an ACL the bits of the group are the most that it gives anybody. */
const OTHERS_MAY_WRITE = 0o022;
const ALL_MAY_WRITE = 0o002;
const STICKY = 0o1000;
/** A directory is asked for at each look and at each exceeding: its mode is read this often at most. */
const READ_EVERY_MS = 1000;

/** Who has a directory, and who may write it. */
export interface Writers {
  readonly uid: number;
  readonly gid: number;
  readonly mode: number;
}

/** Those of a status. */
export function writersOf({ uid, gid, mode }: BigIntStats): Writers {
  return { uid: Number(uid), gid: Number(gid), mode: Number(mode) };
}

/** The users beside root and our own that may write a directory, as the end of a sentence about it; undefined: none. */
export function otherWriters({ uid, gid, mode }: Writers, own = ownUid()): string | undefined {
  if (!isTrusted(uid, own)) return `is uid ${String(uid)}'s`;
  if ((mode & OTHERS_MAY_WRITE) === 0) return undefined;
  if ((mode & ALL_MAY_WRITE) !== 0) return 'may be written by everybody';
  return `may be written by group ${String(gid)}, or by those that its ACL names`;
}

/** Whether the users of a directory may move their own names alone, as in /tmp, where it is root's or ours. */
export function isSticky({ uid, mode }: Writers, own = ownUid()): boolean {
  return isTrusted(uid, own) && (mode & STICKY) !== 0;
}

/** Whether users that are not trusted may move names in a directory: all, or those of trusted users, too. */
export function mayBeMoved(
  { uid, mode }: Pick<Writers, 'uid' | 'mode'>,
  isTrustedUser: (uid: number) => boolean,
): boolean {
  return !isTrustedUser(uid) || ((mode & OTHERS_MAY_WRITE) !== 0 && (mode & STICKY) === 0);
}

/**
 * The users that may take a name that is free in a directory in which they may not move the names of others, as the end of a sentence
 * about it: a socket that is removed there may not come back. Undefined: none, or they could remove it anyway.
 */
export function freeNameTakers(status: Writers, own = ownUid()): string | undefined {
  return isSticky(status, own) ? otherWriters(status, own) : undefined;
}

/**
 * Says that ordinary users may move everybody's names in a directory, and the remedy.
 *
 * @param own the uid of the broker
 * @returns undefined where they may not, or there is no directory
 */
export function movableNames(directory: string, own = ownUid()): string | undefined {
  const status = ifPossible(() => statSync(directory));
  const who = status === undefined || isSticky(status, own) ? undefined : otherWriters(status, own);
  if (status === undefined || who === undefined) return undefined;
  const [has, remedy] = isTrusted(status.uid, own)
    ? [`${who}, and is not sticky`, `chmod +t ${directory}`]
    : [who, `make it root's (chown root ${directory})`];
  return `${directory} ${has}, so that others can rename and remove the sockets of root's plugins; a plugin of root or of the broker's user that registers too often, as others can make it do by that, is slowed down there and never quarantined: ${remedy}`;
}

/** Whether ordinary users may move the names in the directories of the doors: as they are, or were a second ago. */
export function namesMove(
  { devicePlugins, pluginsRegistry }: { readonly devicePlugins: string; readonly pluginsRegistry: string },
  clock: Pick<Clock, 'mono'>,
): NamesMove {
  const known = new Map<Door, { readonly at: number; readonly may: boolean }>();
  return (door) => {
    const now = clock.mono();
    const last = known.get(door);
    if (last !== undefined && now - last.at < READ_EVERY_MS) return last.may;
    const may = movableNames(door === 'register' ? devicePlugins : pluginsRegistry) !== undefined;
    known.set(door, { at: now, may });
    return may;
  };
}
