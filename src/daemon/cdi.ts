// Wires the CDI files of leases to the directory that container engines read.
import { noCdi, type CdiFiles } from '../allocation/ports.js';
import { LeaseFiles, type LeaseFilePorts } from '../cdi/lease-files.js';
import type { Origin } from '../cdi/names.js';
import type { Settings } from '../model/settings.js';
import { cdiDirectory } from '../platform/fs/cdi-directory.js';
import { lookAtHost } from '../platform/fs/host-node.js';
import { rootIdentity } from '../platform/fs/root-identity.js';

/** The ports of CDI. */
export type CdiParts = Pick<LeaseFilePorts, 'clock' | 'leftMs' | 'ownUid' | 'userOf'> & {
  readonly settings: Settings;
  readonly bootId: string;
};

/**
 * The files of leases; none where CDI is off.
 *
 * @param degraded the directory cannot be used (one sentence), or can again
 */
export function cdiFiles({ settings, bootId, ...ports }: CdiParts, degraded: LeaseFilePorts['degraded']): CdiFiles {
  const { cdi, paths } = settings;
  if (cdi.dir === undefined) return noCdi;
  let origin: Origin | undefined;
  return new LeaseFiles({
    directory: cdiDirectory(cdi.dir),
    look: lookAtHost,
    kind: cdi.kind,
    ...ports,
    degraded,
    get origin() {
      // The root is there once something of it is served.
      origin ??= { root: rootIdentity(paths.root), boot: bootId };
      return origin;
    },
  });
}
