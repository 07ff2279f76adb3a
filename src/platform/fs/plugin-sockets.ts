// Removing plugin sockets, as the kubelet does at its start: sockets only, and never a living daemon's.
import { PinnedDirectory } from './pinned-directory.js';

/**
 * Removes every socket in a directory except those named; files and directories stay (unlike the kubelet before 1.33).
 *
 * @returns the names that were removed
 */
export function wipeSockets(directory: string, keep: ReadonlySet<string>): string[] {
  const pinned = PinnedDirectory.openConfigured(directory);
  try {
    return pinned.names().filter((name) => {
      if (keep.has(name) || name.startsWith('.')) return false;
      const incarnation = pinned.incarnation(name);
      return incarnation !== undefined && pinned.unlinkIf(name, incarnation);
    });
  } finally {
    pinned.close();
  }
}
