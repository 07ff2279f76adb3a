// Takes everything of the front out of a kubelet's directories: registry entries first, because the kubelet goes by them.
import { existsSync, readlinkSync } from 'node:fs';
import path from 'node:path';
import type { Clock } from '../../kernel/clock.js';
import { PinnedDirectory } from '../fs/pinned-directory.js';
import { answers } from '../grpc/unix-listener.js';
import { ENTRY_PREFIX, FRONT_FOLDER, kubeletPaths } from './front-paths.js';

/** What was removed, or why nothing was. */
export type Uninstalled = { readonly removed: readonly string[] } | { readonly problem: string };

/**
 * Removes links, sockets and folders of ours; what is not ours stays.
 *
 * @param kubeletDir such as /var/lib/kubelet
 * @throws NodeJS.ErrnoException when a directory may not be read or written
 */
export async function uninstallFront(kubeletDir: string, clock: Clock): Promise<Uninstalled> {
  const { registry, devicePlugins, plugins } = kubeletPaths(kubeletDir);
  for (const parent of [devicePlugins, plugins]) {
    for (const name of namesIn(path.join(parent, FRONT_FOLDER))) {
      const file = path.join(parent, FRONT_FOLDER, name);
      if (await answers(file, clock)) {
        return { problem: `a broker still serves ${file}: stop it, or set front.enabled: false and restart it` };
      }
    }
  }
  return { removed: [...entriesRemoved(registry), ...folderRemoved(devicePlugins), ...folderRemoved(plugins)] };
}

function entriesRemoved(registry: string): string[] {
  if (!existsSync(registry)) return [];
  const pinned = PinnedDirectory.openConfigured(registry);
  try {
    const ours = pinned.names().filter((name) => {
      if (!name.startsWith(ENTRY_PREFIX) || pinned.status(name)?.isSymbolicLink() !== true) return false;
      return path.dirname(readlinkSync(pinned.at(name))) === path.join('..', 'plugins', FRONT_FOLDER);
    });
    for (const name of ours) pinned.unlink(name);
    return ours.map((name) => path.join(registry, name));
  } finally {
    pinned.close();
  }
}

function folderRemoved(parent: string): string[] {
  const folder = path.join(parent, FRONT_FOLDER);
  const names = namesIn(folder);
  if (!existsSync(folder)) return [];
  const pinned = PinnedDirectory.open(folder);
  try {
    const sockets = names.filter((name) => pinned.incarnation(name) !== undefined);
    for (const name of sockets) pinned.unlink(name);
    const outer = PinnedDirectory.openConfigured(parent);
    try {
      outer.removeEmpty(FRONT_FOLDER);
    } finally {
      outer.close();
    }
    return sockets.map((name) => path.join(folder, name));
  } finally {
    pinned.close();
  }
}

function namesIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const pinned = PinnedDirectory.open(folder);
  try {
    return pinned.names();
  } finally {
    pinned.close();
  }
}
