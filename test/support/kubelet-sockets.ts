import type { FrontedService } from '../../src/front/ports.js';
import { kubeletPaths } from '../../src/platform/kubelet/front-paths.js';
import { KubeletSockets } from '../../src/platform/kubelet/front-sockets.js';
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

/**
 * The socket of a resource before a kubelet whose root is `kubelet`; each connection to it is ended at once.
 *
 * @param options.most entries in the registry at most
 * @param options.uid the user of the plugin of the resource; 4001 is an ordinary one
 */
export function kubeletSockets(resource: string, kubelet: string, { most = 1, uid = 0 } = {}): KubeletSockets {
  return new KubeletSockets(
    resource,
    { ...SILENT, uid },
    {
      paths: kubeletPaths(kubelet),
      clock: systemClock,
      take: (socket) => socket.destroy(),
      maxEntries: () => most,
      isStrangers: (whose) => whose === 4001,
    },
  );
}
