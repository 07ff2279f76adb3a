// Empties the device plugin directory as a kubelet does when it starts (kubernetes:
// pkg/kubelet/cm/devicemanager/plugin/v1beta1/server.go, removeContents).
// eslint-disable-next-line house/names-in-directories -- a simulated kubelet in a directory of its user's own
import { lstatSync, mkdirSync, readdirSync, unlinkSync } from 'node:fs';
import path from 'node:path';

/** The kubelet's own checkpoint in that directory. */
export const KUBELET_CHECKPOINT = 'kubelet_internal_checkpoint';

/**
 * Removes every entry that is no directory, sockets that somebody listens on included; directories and the kubelet's
 * checkpoint stay.
 *
 * @returns the names that were removed
 */
export function wipe(directory: string): string[] {
  mkdirSync(directory, { recursive: true, mode: 0o750 });
  const removed = readdirSync(directory).filter((name) => {
    if (name === KUBELET_CHECKPOINT) return false;
    return lstatSync(path.join(directory, name), { throwIfNoEntry: false })?.isDirectory() === false;
  });
  for (const name of removed) remove(path.join(directory, name));
  return removed;
}

/** Unlinks, because a recursive removal refuses links to directories on some lines of Node.js. */
function remove(file: string): void {
  try {
    unlinkSync(file);
  } catch (failure) {
    // Its plugin may have been faster.
    if ((failure as NodeJS.ErrnoException).code !== 'ENOENT') throw failure;
  }
}
