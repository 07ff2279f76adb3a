import { hostname, homedir } from 'node:os';
import type { HostFacts } from '../../config/ports.js';
import { realDirectory } from '../fs/directories.js';
import { Peers } from '../peer/peers.js';
import { ownUid } from '../process/own-uid.js';

/** The user and the environment of this process, as far as settings depend on them. */
export function hostFacts(env: NodeJS.ProcessEnv = process.env): HostFacts {
  const named = env['NODE_NAME'];
  return {
    uid: ownUid(),
    home: homedir(),
    xdgStateHome: env['XDG_STATE_HOME'],
    // The kubelet lower-cases the host name too (kubelet --hostname-override).
    nodeName: named === undefined || named === '' ? hostname().toLowerCase() : named,
    realDirectory,
    knowsCallers: () => new Peers().isExact,
    workingDirectory: process.cwd(),
  };
}
