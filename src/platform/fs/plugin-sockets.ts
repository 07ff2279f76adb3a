// Removing and moving plugin sockets, as the kubelet does at its start: sockets only, and never a living daemon's.
import { lstatSync, readdirSync, renameSync, unlinkSync } from 'node:fs';
import path from 'node:path';
import { incarnationKey } from '../../model/ids.js';
import type { PinnedSocket } from '../../model/plugin.js';
import { incarnationAt } from './socket-pin.js';

/**
 * Removes every socket in a directory except those named; files and directories stay (unlike the kubelet before 1.33).
 *
 * @returns the names that were removed
 */
export function wipeSockets(directory: string, keep: ReadonlySet<string>): string[] {
  const removed: string[] = [];
  for (const name of readdirSync(directory)) {
    if (keep.has(name) || name.startsWith('.')) continue;
    const file = path.join(directory, name);
    if (lstatSync(file, { throwIfNoEntry: false })?.isSocket() !== true) continue;
    try {
      unlinkSync(file);
      removed.push(name);
    } catch (failure) {
      if ((failure as NodeJS.ErrnoException).code !== 'ENOENT') throw failure;
    }
  }
  return removed;
}

/**
 * Moves a socket out of its plugin's sight, under a hidden name, if its path still leads to it. The plugin notices as
 * after a kubelet restart; the open connection goes on.
 */
export function moveAside(socket: PinnedSocket): boolean {
  const now = incarnationAt(socket.path);
  if (now === undefined || incarnationKey(now) !== incarnationKey(socket.incarnation)) return false;
  try {
    renameSync(socket.path, path.join(path.dirname(socket.path), `.pb-aside-${socket.incarnation.ino}`));
    return true;
  } catch {
    return false;
  }
}
