// Takes everything of the front out of a kubelet's directories: registry entries first, because the kubelet goes by them.
import path from 'node:path';
import { asError, type Clock } from '../../kernel/clock.js';
import { DEFAULT_GUARD } from '../http2/default-guard.js';
import { statusOf } from '../fs/name-calls.js';
import { inDirectory, type PinnedDirectory } from '../fs/pinned-directory.js';
import type { PrivateFolder } from '../fs/private-folder.js';
import { answers } from '../grpc/unix-listener.js';
import { linkAt, withFolder } from './front-folder.js';
import { FRONT_ENTRY, FRONT_FOLDER, FRONT_SOCKET, kubeletPaths, namesOf, type KubeletPaths } from './front-paths.js';
import { kubeletsOwn } from './kubelets-own.js';
import { podResourcesClient } from './pod-resources-client.js';

/** The kubelet answers from its memory, but notices the end of a broker a moment later: then its answer is final. */
const [ASKED_MS, ASKED_TIMES, ASKED_EVERY_MS] = [5000, 4, 250];
const MOST_NAMED = 5;

/** The removed files, or why none were. */
export type Uninstalled = { readonly removed: readonly string[] } | { readonly problem: string };

/** The ports of the removal. */
export interface UninstallPorts {
  readonly clock: Clock;
  /** Waits so many milliseconds, and keeps the process alive meanwhile. */
  readonly pause: (ms: number) => Promise<unknown>;
}

/**
 * Removes links, sockets and folders of ours; others stay. A kubelet that runs forgets a resource by its name when an entry goes,
 * also one that another plugin offers by then: where a plugin has gone back to it, nothing is removed.
 *
 * @param kubeletDir such as /var/lib/kubelet
 * @param isForced remove it all the same
 * @throws NodeJS.ErrnoException when a directory may not be read or written
 */
export async function uninstallFront(
  kubeletDir: string,
  isForced: boolean,
  ports: UninstallPorts,
): Promise<Uninstalled> {
  const paths = kubeletPaths(kubeletDir);
  const { registry, devicePlugins, plugins } = paths;
  for (const parent of [devicePlugins, plugins]) {
    for (const name of withFolder(parent, (folder) => folder.sockets(FRONT_SOCKET)) ?? []) {
      const file = path.join(parent, FRONT_FOLDER, name);
      if (!(await answers(file, ports.clock))) continue;
      return { problem: `a broker still serves ${file}: stop it, or set front.enabled: false and restart it` };
    }
  }
  const cutOff = isForced ? [] : await goneBack(paths, ports);
  if (typeof cutOff === 'string') {
    return {
      problem: `a kubelet runs here and does not say which resources it has (${cutOff}); one that it has from elsewhere by now it would lose with the registry entry of the broker: try again, stop the kubelet while you run this (its pods go on), or use --force and restart the plugins`,
    };
  }
  if (cutOff.length > 0) {
    const named = cutOff.slice(0, MOST_NAMED).join(', ') + (cutOff.length > MOST_NAMED ? ', …' : '');
    return {
      problem: `the kubelet has ${named} from elsewhere by now, and would lose it with the registry entry of the broker: stop the kubelet while you run this (its pods go on), or use --force and restart the plugins`,
    };
  }
  const removed = entriesRemoved(registry);
  for (const parent of [devicePlugins, plugins]) removed.push(...(withFolder(parent, folderRemoved) ?? []));
  return { removed };
}

/**
 * Resources with an entry of ours of which the kubelet has healthy devices, although no broker serves them; or why a kubelet that runs
 * does not say.
 */
async function goneBack(
  { registry, podResources }: KubeletPaths,
  { clock, pause }: UninstallPorts,
): Promise<string[] | string> {
  const entries = withRegistry(registry, (_, ours) => ours);
  if (entries.length === 0) return [];
  const kubelet = podResourcesClient(podResources, { clock, guard: () => DEFAULT_GUARD });
  let had: string[] = [];
  for (let nth = 0; nth < ASKED_TIMES; nth++) {
    if (nth > 0) await pause(ASKED_EVERY_MS);
    let all: ReadonlySet<string>;
    try {
      all = await kubelet.usable(ASKED_MS, new AbortController().signal);
    } catch (failure) {
      // One that is down, or starts, has nothing to lose yet.
      if (!isKubelets(podResources) || !(await answers(podResources, clock))) return [];
      return asError(failure).message;
    }
    had = [...all].filter((resource) => entries.includes(namesOf(resource).entry));
    if (had.length === 0) break;
  }
  return had;
}

/** Whether there is a socket of the kubelet's at a path, and not one of an ordinary user. */
function isKubelets(file: string): boolean {
  try {
    kubeletsOwn(file).release();
    return true;
  } catch {
    return false;
  }
}

function entriesRemoved(registry: string): string[] {
  return withRegistry(registry, (pinned, ours) => {
    for (const name of ours) pinned.unlink(name);
    return ours.map((name) => path.join(registry, name));
  });
}

/** Does something with the entries of ours in the registry. */
function withRegistry(registry: string, work: (pinned: PinnedDirectory, ours: string[]) => string[]): string[] {
  if (statusOf(registry) === undefined) return [];
  return inDirectory(registry, (pinned) => {
    const ours = Array.from(pinned.entries(), ({ name }) => name).filter((name) => {
      if (!FRONT_ENTRY.test(name)) return false;
      return path.dirname(linkAt(pinned.at(name)) ?? '') === path.join('..', 'plugins', FRONT_FOLDER);
    });
    return work(pinned, ours);
  });
}

function folderRemoved(folder: PrivateFolder): string[] {
  const sockets = folder.sockets(FRONT_SOCKET);
  for (const name of sockets) folder.inside.unlink(name);
  folder.removeIfEmpty();
  return sockets.map((name) => path.join(folder.inside.path, name));
}
