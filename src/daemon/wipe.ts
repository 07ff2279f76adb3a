// As the kubelet at its start: plugins that watch for the loss of their own socket register again.
import type { Log } from '../kernel/log.js';
import type { EventSink } from '../model/event.js';
import { wipeSockets } from '../platform/fs/plugin-sockets.js';
import { KUBELET_SOCKET } from '../platform/listeners/socket-listeners.js';

/** Removes the sockets of plugins in a directory, and says so. */
export function wipePlugins(directory: string, log: Log, events: EventSink): void {
  const removed = wipeSockets(directory, new Set([KUBELET_SOCKET]));
  if (removed.length === 0) return;
  const message = `${String(removed.length)} plugin sockets were removed, so that their plugins register again (restart.wipeSockets)`;
  log.info('broker.sockets-wiped', message, { sockets: removed.slice(0, 32) });
  events.record({ type: 'broker', message });
}
