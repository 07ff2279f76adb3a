// alloc.sock: where devices are asked for. Each connection passes the same guard as those to kubelet.sock.
import type { Allocations } from '../../allocation/allocations.js';
import type { Log } from '../../kernel/log.js';
import type { Settings } from '../../model/settings.js';
import { serveAllocator, type AllocBackend } from '../grpc/alloc-service.js';
import { groupId } from '../process/groups.js';
import { KeptDoor, type KeptDoorPorts } from './kept-door.js';

/** Calls of one connection at once: an owner needs few. */
const STREAMS = 32;
/** Members of the group may ask; where the kernel cannot identify callers, only the broker's own user may. */
const GROUP_MODE = 0o660;
const OWN_MODE = 0o600;

/** The ports of the allocator's socket. */
export interface AllocatorSocketPorts extends KeptDoorPorts {
  readonly settings: Settings;
  readonly log: Log;
  /** Whether the kernel says who calls. */
  readonly isExact: boolean;
  readonly allocations: Allocations;
  readonly pods: AllocBackend['pods'];
}

/** The socket, its guard and the service behind it. Where it cannot be made, there are no new leases. */
export function allocatorSocket(ports: AllocatorSocketPorts): KeptDoor {
  const { settings, log, isExact, allocations, gate, degraded } = ports;
  const path = settings.paths.allocSocket;
  return new KeptDoor(
    {
      ...ports,
      gate: {
        inTurn: gate.inTurn,
        accept: (socket) => {
          const connection = gate.accept(socket);
          const { pid, uid } = connection?.caller ?? {};
          if (pid !== undefined && uid !== undefined)
            socket.once('close', () => allocations.keeper.looks.connectionEnded({ uid, pid }));
          return connection;
        },
      },
      degraded: (why) => degraded(why === undefined ? undefined : `devices cannot be asked for on ${path}: ${why}`),
    },
    {
      streams: STREAMS,
      place: () => ({
        path,
        access: { mode: isExact ? GROUP_MODE : OWN_MODE, gid: groupOf(settings.allocator.group) },
        replaces: true,
      }),
      movedAside: (message) => log.warn('allocation.moved-aside', message),
      // Streams of lease followers would never end by themselves.
      serve: (door) => serveAllocator(door, ports).endStreams,
    },
  );
}

/** Undefined where none is named. @throws Error when there is none of that name */
function groupOf(group: string): number | undefined {
  if (group === '') return undefined;
  const gid = /^[0-9]{1,10}$/.test(group) ? Number(group) : groupId(group);
  if (gid === undefined) {
    throw new Error(`/etc/group has no group ${group}: make it, or name another one in allocator.group`);
  }
  return gid;
}
