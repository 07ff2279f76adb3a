import type { FrontedService } from '../../src/front/ports.js';
import { kubeletPaths } from '../../src/platform/kubelet/front-paths.js';
import { KubeletPlace } from '../../src/platform/kubelet/front-places.js';
import { systemClock } from '../../src/platform/time/system-clock.js';

/** A resource that offers nothing and answers no call. */
const SILENT: FrontedService = {
  isOffered: false,
  options: () => ({ preStartRequired: false, preferredAllocationAvailable: false }),
  afterRegister: (go) => go(),
  watch: () => () => undefined,
  call: () => Promise.resolve({ status: 12, message: 'nothing is served' }),
};

/** The socket of a resource before a kubelet whose root is `kubelet`; whoever connects to it is hung up on. */
export function kubeletPlace(resource: string, kubelet: string): KubeletPlace {
  return new KubeletPlace(resource, SILENT, {
    paths: kubeletPaths(kubelet),
    clock: systemClock,
    take: (socket) => socket.destroy(),
    maxEntries: () => 1,
  });
}
