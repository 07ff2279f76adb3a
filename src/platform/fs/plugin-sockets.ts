// Removing plugin sockets, as the kubelet does at its start: sockets only, and never a living daemon's.
import type { Log } from '../../kernel/log.js';
import type { EventSink } from '../../model/event.js';
import { inDirectory } from './pinned-directory.js';

/** Entries that are looked at; no kubelet.sock is there meanwhile. */
const MOST_ENTRIES = 20_000;

/**
 * Removes every socket among the first entries of a directory except those named; files and directories stay (unlike the kubelet
 * before 1.33).
 *
 * @returns the names that were removed
 * @throws NodeJS.ErrnoException when the directory cannot be read
 */
export function wipeSockets(directory: string, keep: ReadonlySet<string>): string[] {
  return inDirectory(directory, (pinned) =>
    pinned.names(MOST_ENTRIES).filter((name) => {
      if (keep.has(name) || name.startsWith('.')) return false;
      const incarnation = pinned.incarnation(name);
      return incarnation !== undefined && pinned.unlinkIf(name, incarnation);
    }),
  );
}

/**
 * As the kubelet at its start: plugins that watch for the loss of their own socket register again. Removes their sockets,
 * and says so.
 */
export function wipePlugins(directory: string, keep: ReadonlySet<string>, log: Log, events: EventSink): void {
  const removed = wipeSockets(directory, keep);
  if (removed.length === 0) return;
  const message = `sockets of plugins were removed, so that these register again (restart.wipeSockets): ${String(removed.length)}`;
  log.info('broker.sockets-wiped', message, { sockets: removed.slice(0, 32) });
  events.record({ type: 'broker', message });
}
