// Where the broker and the plugin meet: a short private directory that is removed again, or the root of an operator.
import { mkdirSync, mkdtempSync, writeFileSync, chmodSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { removeTree } from '../platform/fs/remove-tree.js';

/** The directory that plugins have built in. */
export const KUBELET_DIRECTORY = '/var/lib/kubelet';
/** A plugin's socket name that fits below the kubelet's directories shall fit below ours. */
const LONGEST_BASE = 24;

/** The directories of one rig, all absolute. */
export interface Directories {
  /** Private: config, checkpoint, admin socket. Removed at the end. */
  readonly own: string;
  readonly configFile: string;
  readonly state: string;
  readonly brokerSocket: string;
  /** The plugin's kubelet directory, as the broker sees it. */
  readonly kubelet: string;
  readonly devicePlugins: string;
  readonly registry: string;
  readonly plugins: string;
  readonly kubeletSocket: string;
}

/** The paths below a kubelet's directory, or a root, that plugins are told of; `verify` fills them in by these names. */
export function pathsBelow(
  kubelet: string,
): Pick<Directories, 'devicePlugins' | 'registry' | 'plugins' | 'kubeletSocket'> {
  const devicePlugins = path.join(kubelet, 'device-plugins');
  return {
    devicePlugins,
    registry: path.join(kubelet, 'plugins_registry'),
    plugins: path.join(kubelet, 'plugins'),
    kubeletSocket: path.join(devicePlugins, 'kubelet.sock'),
  };
}

/**
 * Makes the directories of one rig and the configuration of its broker.
 *
 * @param attachedRoot the doors are below this root instead of below a private one
 * @param isBound the plugin sees `kubelet` at /var/lib/kubelet
 */
export function makeDirectories(attachedRoot: string | undefined, isBound: boolean): Directories {
  const base = tmpdir().length <= LONGEST_BASE ? tmpdir() : '/tmp';
  const own = mkdtempSync(path.join(base, 'v-'));
  // A plugin may run as another user than we do.
  chmodSync(own, 0o755);
  const kubelet = attachedRoot ?? path.join(own, 'k');
  const directories: Directories = {
    own,
    configFile: path.join(own, 'config.yaml'),
    state: path.join(own, 'state'),
    brokerSocket: path.join(own, 'broker.sock'),
    kubelet,
    ...pathsBelow(kubelet),
  };
  for (const directory of [directories.devicePlugins, directories.registry, directories.plugins])
    mkdirSync(directory, { recursive: true });
  writeFileSync(directories.configFile, JSON.stringify(configOf(directories, isBound)));
  return directories;
}

/** JSON is YAML. The flood policy only watches: a verdict is about the plugin, and calls are counted anyway. */
function configOf(directories: Directories, isBound: boolean): object {
  const { state, brokerSocket, devicePlugins, registry, plugins } = directories;
  return {
    http: { listen: 'off' },
    // Nothing outside the run's own directory is written.
    cdi: { dir: 'cdi' },
    flood: { mode: 'observe' },
    // Longer than the calls that are held on purpose.
    timeouts: { register: '30s' },
    log: { level: 'info', format: 'json' },
    paths: {
      state,
      brokerSocket,
      devicePlugins,
      pluginsRegistry: registry,
      plugins,
      map: isBound ? [{ from: KUBELET_DIRECTORY, to: directories.kubelet }] : [],
    },
  };
}

/** Removes the directories made for the run. */
export function removeDirectories({ own }: Directories): void {
  removeTree(own);
}
