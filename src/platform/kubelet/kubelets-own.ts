// A socket of the kubelet's, dialled as the same incarnation that was looked at.
import path from 'node:path';
import type { PinnedSocket } from '../../model/plugin.js';
import { GRPC_STATUS } from '../../model/reasons.js';
import { SocketPaths } from '../fs/socket-paths.js';
import { CallFailed } from '../grpc/plugin-client.js';
import { isOursOrRoots } from '../process/own-uid.js';

/**
 * Pins the kubelet's socket at a path. An ordinary user's link is not followed, and an ordinary user's socket is not the
 * kubelet's.
 *
 * @returns the pin; release it
 * @throws CallFailed UNAVAILABLE where there is none
 */
export function kubeletsOwn(file: string): PinnedSocket {
  const pinned = new SocketPaths([path.dirname(file)], isOursOrRoots).pin(file);
  if ('problem' in pinned) throw new CallFailed(GRPC_STATUS.UNAVAILABLE, `there is no ${file} (${pinned.detail})`);
  if (isOursOrRoots(pinned.uid)) return pinned;
  pinned.release();
  throw new CallFailed(
    GRPC_STATUS.UNAVAILABLE,
    `${file} belongs to uid ${String(pinned.uid)}, which is not the kubelet's`,
  );
}
