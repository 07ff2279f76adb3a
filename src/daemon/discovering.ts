// Wires the registry directory to the listeners of its sockets.
import { pinRefusal } from '../admission/endpoint.js';
import { Discovery, type DiscoveryEvents } from '../discovery/discovery.js';
import type { Clock } from '../kernel/clock.js';
import { isTrusted } from '../model/ids.js';
import type { Settings } from '../model/settings.js';
import { registryDirectory, type RegistryDirectoryPorts } from '../platform/fs/registry-directory.js';
import type { Core } from './core.js';

/** Its parts beside the listeners. */
export interface DiscoveringParts
  extends Pick<DiscoveryEvents, 'looked' | 'full'>, Pick<RegistryDirectoryPorts, 'follow' | 'paths' | 'userOf'> {
  readonly settings: Settings;
  readonly clock: Clock;
  /** Uid of the broker. */
  readonly ownUid: number;
}

/** Discovery on the real directory; its sockets go to the watcher door. */
export function openDiscovery({ registrySockets, recorder }: Core, parts: DiscoveringParts): Discovery {
  const { settings, clock, paths, ownUid, follow, userOf, looked, full } = parts;
  const { appeared, gone, renamed, expected } = registrySockets;
  const isOurs = (uid: number): boolean => isTrusted(uid, ownUid);
  return new Discovery(
    registryDirectory({
      directory: settings.paths.pluginsRegistry,
      paths,
      expected,
      follow,
      userOf,
      refusal: (file, problem) => pinRefusal('a registration socket', file, problem, ownUid),
    }),
    { appeared, gone, renamed, recorder, full, looked },
    clock,
    () => ({ ...settings.discovery, isTrusted: isOurs }),
  );
}
