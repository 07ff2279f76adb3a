// Where the front stands in a kubelet's directories: names that are the same in every life of the broker.
import { createHash } from 'node:crypto';
import path from 'node:path';

/** Our folder in the kubelet's directories; sub-folders survive the kubelet's wipe at its start. */
export const FRONT_FOLDER = 'plugin-broker';
/** The mark in each folder of ours: nobody else can have put it into a folder that only we can enter. */
export const FRONT_MARK = '.front';
/** Names of sockets in it: those of {@link namesOf}, and those that are not seen yet. */
export const FRONT_SOCKET = /^(?:[0-9a-f]{16}\.sock|\.[0-9a-f]{12})$/;
/** Names of our entries in the registry: those of {@link namesOf}. */
export const FRONT_ENTRY = /^plugin-broker-[0-9a-f]{16}\.sock$/;

/** The kubelet's directories that plugins see. */
export interface KubeletPaths {
  readonly devicePlugins: string;
  readonly registry: string;
  readonly plugins: string;
  readonly socket: string;
  readonly podResources: string;
}

/**
 * The paths below a kubelet's directory, such as /var/lib/kubelet.
 *
 * @param podResources its PodResources socket where that is elsewhere: `--root-dir` of a kubelet moves all but device-plugins/
 */
export function kubeletPaths(kubeletDir: string, podResources?: string): KubeletPaths {
  const below = (...parts: readonly string[]): string => path.join(kubeletDir, ...parts);
  return {
    devicePlugins: below('device-plugins'),
    registry: below('plugins_registry'),
    plugins: below('plugins'),
    socket: below('device-plugins', 'kubelet.sock'),
    podResources: podResources ?? below('pod-resources', 'kubelet.sock'),
  };
}

/** File names of one resource: a name of a resource has characters that no file name has. */
export function namesOf(resource: string): {
  readonly socket: string;
  readonly entry: string;
  readonly target: string;
} {
  const socket = `${createHash('sha256').update(resource).digest('hex').slice(0, 16)}.sock`;
  return { socket, entry: `plugin-broker-${socket}`, target: path.join('..', 'plugins', FRONT_FOLDER, socket) };
}
