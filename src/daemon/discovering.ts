// Wires the registry directory to those who follow its sockets.
import { pinRefusal } from '../admission/endpoint.js';
import { Discovery } from '../discovery/discovery.js';
import type { Clock } from '../kernel/clock.js';
import type { Settings } from '../model/settings.js';
import { isHidden, listFiles } from '../platform/fs/directory-watch.js';
import { ownerOf } from '../platform/fs/owner.js';
import { pinSocket } from '../platform/fs/socket-pin.js';
import type { Core } from './core.js';
import { keyAt } from './outside.js';

/** What it needs beside those who follow. */
export interface DiscoveringParts {
  readonly settings: Settings;
  readonly clock: Clock;
  /** Uid of the broker, for sentences about what it may not open. */
  readonly ownUid: number;
  /** Whose sockets and directories are no strangers': root's and the broker's own. */
  readonly isTrusted: (uid: number) => boolean;
  /** Everything was looked at on time. */
  readonly looked: () => void;
  /** There are more sockets than are looked at (one sentence); undefined: that is over. */
  readonly full: (why: string | undefined) => void;
}

/** Discovery on the real directory; its sockets go to the watcher door. */
export function openDiscovery({ registrySockets, recorder }: Core, parts: DiscoveringParts): Discovery {
  const { settings, clock, ownUid, isTrusted, looked, full } = parts;
  const { pluginsRegistry } = settings.paths;
  return new Discovery(
    {
      list: () => listFiles(pluginsRegistry),
      pin: (file) => {
        const pinned = pinSocket(file);
        if (!('problem' in pinned)) return pinned;
        const isGone = pinned.problem === 'missing' || pinned.problem === 'not-a-socket';
        return isGone ? undefined : { refusal: pinRefusal('a registration socket', file, pinned, ownUid) };
      },
      keyAt,
      ownerOf: (file) => ownerOf(file, isTrusted),
      isHidden: (file) => isHidden(pluginsRegistry, file),
    },
    {
      appeared: registrySockets.appeared,
      gone: registrySockets.gone,
      unusable: (path, refusal) => recorder.refusedAt(path, refusal),
      full,
      looked,
    },
    clock,
    () => ({ ...settings.discovery, isTrusted }),
  );
}
