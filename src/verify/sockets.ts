// Sockets that scenarios remove, in directories that others may write: `verify --attach` runs as root, and a user that exchanges
// a directory in a path for a link can lead it elsewhere. Each is removed by its name in the directory that it is in.
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { ifPossible, isDone } from '../kernel/if-possible.js';
import type { PluginPicture } from '../model/fault-port.js';
import { PinnedDirectory } from '../platform/fs/pinned-directory.js';
import { pluginSockets } from '../platform/fs/socket-paths.js';
import type { Directories } from './directories.js';

/** Of the kubelet's directory. */
type Kubelets = 'devicePlugins' | 'kubeletSocket';

/**
 * Removes the sockets that plugins registered, wherever below the doors they are. A newer file of the same name, and a socket
 * that a link leads to, stay.
 *
 * @returns the names that were removed
 */
export function unlinkSockets(
  { devicePlugins, registry, plugins }: Pick<Directories, 'devicePlugins' | 'registry' | 'plugins'>,
  registered: readonly Pick<PluginPicture, 'socket' | 'incarnation'>[],
): string[] {
  const ways = pluginSockets({ devicePlugins, pluginsRegistry: registry, plugins }, process.geteuid?.() ?? -1);
  return registered.flatMap(({ socket, incarnation }) => {
    const directory = path.dirname(socket);
    const name = path.basename(socket);
    const isRemoved = ifPossible(() =>
      ways.inDirectory(directory, (at) => isUnlinked(PinnedDirectory.open(directory, at), name, incarnation)),
    );
    return isRemoved === true ? [name] : [];
  });
}

function isUnlinked(pinned: PinnedDirectory, name: string, key: string): boolean {
  try {
    const now = pinned.incarnation(name);
    // Not by birth time: where a change time stands in for it, a mode that the plugin gave its socket has changed it.
    return now !== undefined && key.startsWith(`${now.dev}:${now.ino}:`) && pinned.unlinkIf(name, now);
  } finally {
    pinned.close();
  }
}

/** Removes kubelet.sock. Fine where there is none. @throws NodeJS.ErrnoException */
export function unlinkKubeletSocket({ devicePlugins, kubeletSocket }: Pick<Directories, Kubelets>): void {
  inConfigured(devicePlugins, (pinned) => pinned.unlink(path.basename(kubeletSocket)));
}

/**
 * Removes sockets of plugins, as the kubelet does at its start.
 *
 * @param withKubeletSocket removes kubelet.sock, too
 * @returns the names of the plugins' sockets that were removed
 */
export function removePluginSockets(directories: Pick<Directories, Kubelets>, withKubeletSocket = false): string[] {
  const { devicePlugins } = directories;
  const removed = inConfigured(devicePlugins, (pinned) =>
    listSockets(devicePlugins).filter((name) => isDone(() => pinned.unlink(name))),
  );
  if (withKubeletSocket) unlinkKubeletSocket(directories);
  return removed;
}

/** Works in a directory that is configured. @throws NodeJS.ErrnoException, and the errors of `work` */
function inConfigured<T>(directory: string, work: (pinned: PinnedDirectory) => T): T {
  const pinned = PinnedDirectory.openConfigured(directory);
  try {
    return work(pinned);
  } finally {
    pinned.close();
  }
}

/** Names of plugin sockets in a directory. */
export function listSockets(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isSocket() && entry.name !== 'kubelet.sock' && !entry.name.startsWith('.'))
    .map((entry) => entry.name);
}
