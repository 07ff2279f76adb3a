import type { FrontedService, FrontSockets } from '../../src/front/ports.js';
import { kubeletPaths } from '../../src/platform/kubelet/front-paths.js';
import { openKubeletSockets } from '../../src/platform/kubelet/front-sockets.js';
import { systemClock } from '../../src/platform/time/system-clock.js';

/** A resource that offers nothing and answers no call. */
const SILENT: FrontedService = {
  isOffered: false,
  uid: undefined,
  options: () => ({ preStartRequired: false, preferredAllocationAvailable: false }),
  afterRegister: (go) => go(),
  watch: () => () => undefined,
  call: () => Promise.resolve({ status: 12, message: 'nothing is served' }),
};

/** The broker's own user is one that no test is. */
const USERS = { ownUid: 60_000, userOf: (uid: number): number => uid };

/**
 * Makes sockets of resources before a kubelet whose root is `kubelet`; each connection to one is ended at once.
 *
 * @param most entries in the registry at most
 * @returns makes those of one; `uid` is the user of its plugin: 0 is root
 */
export function openSockets(kubelet: string, most: number): (resource: string, uid?: number) => FrontSockets {
  const open = openKubeletSockets({
    ...USERS,
    paths: kubeletPaths(kubelet),
    clock: systemClock,
    take: (socket) => socket.destroy(),
    maxEntries: () => most,
  });
  return (resource, uid = 0) => open(resource, { ...SILENT, uid });
}

/** The sockets of one. @param options as of `openSockets` */
export function kubeletSockets(resource: string, kubelet: string, { most = 1, uid = 0 } = {}): FrontSockets {
  return openSockets(kubelet, most)(resource, uid);
}
