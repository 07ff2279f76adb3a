// Sockets that scenarios remove, in directories that others may write: `verify --attach` runs as root, and others may exchange
// a directory of a path for a link. Each socket is removed by its name in the open directory that holds it.
import { readdirSync, type BigIntStats } from 'node:fs';
import path from 'node:path';
import { ifPossible } from '../kernel/if-possible.js';
import type { PluginPicture } from '../model/fault-port.js';
import type { Incarnation } from '../model/ids.js';
import type { PinnedSocket, PinProblem } from '../model/plugin.js';
import { inDirectory, PinnedDirectory } from '../platform/fs/pinned-directory.js';
import { wipeSockets } from '../platform/fs/plugin-sockets.js';
import { pluginSockets, type SocketPaths } from '../platform/fs/socket-paths.js';
import { ownUid } from '../platform/process/own-uid.js';
import type { Directories } from './directories.js';

/** The directories in which plugins have their sockets. */
type SocketDirectories = Pick<Directories, 'devicePlugins' | 'registry' | 'plugins'>;
/** Of the kubelet's directory. */
type Kubelets = 'devicePlugins' | 'kubeletSocket';

/**
 * Removes the sockets that plugins registered, anywhere below these directories. A newer file of the same name, and a socket
 * that a link leads to, stay.
 *
 * @returns the names that were removed
 */
export function unlinkSockets(
  directories: SocketDirectories,
  registered: readonly Pick<PluginPicture, 'socket' | 'incarnation'>[],
): string[] {
  const ways = waysTo(directories);
  return registered.flatMap(({ socket, incarnation }) => {
    const isRemoved = inItsDirectory(ways, socket, (pinned, name) => {
      const now = pinned.incarnation(name);
      return now !== undefined && isThat(incarnation, now) && pinned.unlinkIf(name, now);
    });
    return isRemoved === true ? [path.basename(socket)] : [];
  });
}

/** The uid that owns the socket that a plugin registered; undefined when another file has its name by now. */
export function ownerOfSocket(
  directories: SocketDirectories,
  { socket, incarnation }: Pick<PluginPicture, 'socket' | 'incarnation'>,
): number | undefined {
  return inItsDirectory(waysTo(directories), socket, (pinned, name) => {
    const status = pinned.status(name);
    return status?.isSocket() === true && isThat(incarnation, status) ? Number(status.uid) : undefined;
  });
}

/**
 * Pins the socket that a plugin registered, to call it.
 *
 * @returns the pin, to be released; or why there is none, also when another file has its name by now
 */
export function pinRegistered(
  directories: SocketDirectories,
  { socket, incarnation }: Pick<PluginPicture, 'socket' | 'incarnation'>,
): PinnedSocket | PinProblem {
  const pin = waysTo(directories).pin(socket);
  if ('problem' in pin || isThat(incarnation, pin.incarnation)) return pin;
  pin.release();
  return { problem: 'missing', detail: 'another socket has its name' };
}

function waysTo({ devicePlugins, registry, plugins }: SocketDirectories): SocketPaths {
  return pluginSockets({ devicePlugins, pluginsRegistry: registry, plugins }, ownUid());
}

/** Works with a socket's name in its open directory; undefined when the directory cannot be reached. */
function inItsDirectory<T>(
  ways: SocketPaths,
  socket: string,
  work: (pinned: PinnedDirectory, name: string) => T,
): T | undefined {
  const directory = path.dirname(socket);
  return ifPossible(() =>
    ways.inDirectory(directory, (at) => {
      const pinned = PinnedDirectory.open(directory, at);
      try {
        return work(pinned, path.basename(socket));
      } finally {
        pinned.close();
      }
    }),
  );
}

/** Compares device and inode, not the birth time: where the change time stands in for it, a chmod of the socket changes it. */
function isThat(key: string, { dev, ino }: Pick<BigIntStats | Incarnation, 'dev' | 'ino'>): boolean {
  return key.startsWith(`${dev}:${ino}:`);
}

/** Removes kubelet.sock. Fine where there is none, or a directory has its name. @throws NodeJS.ErrnoException */
export function unlinkKubeletSocket({ devicePlugins, kubeletSocket }: Pick<Directories, Kubelets>): void {
  inDirectory(devicePlugins, (pinned) => {
    try {
      pinned.unlink(path.basename(kubeletSocket));
    } catch (failure) {
      // Somebody put a directory there, so the socket is gone already: the broker moves it aside.
      if ((failure as NodeJS.ErrnoException).code !== 'EISDIR') throw failure;
    }
  });
}

/**
 * Removes sockets of plugins, as the kubelet does at its start.
 *
 * @param withKubeletSocket removes kubelet.sock, too
 * @returns the names of the plugins' sockets that were removed
 */
export function removePluginSockets(directories: Pick<Directories, Kubelets>, withKubeletSocket = false): string[] {
  const removed = wipeSockets(directories.devicePlugins, new Set([path.basename(directories.kubeletSocket)]));
  if (withKubeletSocket) unlinkKubeletSocket(directories);
  return removed;
}

/** Names of plugin sockets in a directory. */
export function listSockets(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isSocket() && entry.name !== 'kubelet.sock' && !entry.name.startsWith('.'))
    .map((entry) => entry.name);
}
