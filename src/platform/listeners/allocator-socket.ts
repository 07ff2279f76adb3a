// alloc.sock: where devices are asked for. Each connection passes the same guard as those to kubelet.sock.
import type { Socket } from 'node:net';
import type { Allocations } from '../../allocation/allocations.js';
import type { Clock } from '../../kernel/clock.js';
import type { Log } from '../../kernel/log.js';
import type { Caller, UserFacts } from '../../model/ids.js';
import type { Settings } from '../../model/settings.js';
import { serveAllocator, type AllocBackend } from '../grpc/alloc-service.js';
import { GrpcDoor, type Accept } from '../grpc/grpc-door.js';
import { UnreadAnswers } from '../grpc/unread-answers.js';
import { groupId } from '../process/groups.js';
import { KeptListener } from './kept-listener.js';

/** Calls of one connection at once: an owner needs few. */
const STREAMS = 32;
/** The largest request. */
const MAX_REQUEST_BYTES = 64 * 1024;
/** Members of the group may ask; where the kernel cannot identify callers, only the broker's own user may. */
const GROUP_MODE = 0o660;
const OWN_MODE = 0o600;

/** The ports of the allocator's socket. */
export interface AllocatorSocketPorts extends UserFacts {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether the kernel says who calls. */
  readonly isExact: boolean;
  readonly allocations: Allocations;
  readonly pods: AllocBackend['pods'];
  /** The guard of connections. */
  readonly accept: Accept;
  /** Accepting failed; the listener goes on. */
  readonly acceptFailed: (failure: Error) => void;
  /** alloc.sock cannot be served (one sentence), or can again. */
  readonly degraded: (why: string | undefined) => void;
}

/** The socket, its guard and the service behind it. */
export class AllocatorSocket {
  readonly #door: GrpcDoor;
  readonly #listener: KeptListener;
  readonly #endStreams: () => void;

  constructor(ports: AllocatorSocketPorts) {
    const { settings, clock, log, ownUid, isExact, allocations, pods } = ports;
    const { accept, acceptFailed, degraded } = ports;
    const ended = (caller: Caller | undefined): void => {
      if (caller?.pid !== undefined) allocations.keeper.looks.connectionEnded({ uid: caller.uid, pid: caller.pid });
    };
    this.#door = new GrpcDoor({
      clock,
      streams: STREAMS,
      maxRequestBytes: MAX_REQUEST_BYTES,
      unread: new UnreadAnswers(ports),
      accept: (socket: Socket) => {
        const connection = accept(socket);
        if (connection !== undefined) socket.once('close', () => ended(connection.caller));
        return connection;
      },
    });
    this.#endStreams = serveAllocator(this.#door, { allocations, pods, log, ownUid, isExact }).endStreams;
    const path = settings.paths.allocSocket;
    this.#listener = new KeptListener({
      clock,
      everyMs: () => settings.discovery.rescanMs,
      listener: () => ({
        path,
        access: { mode: isExact ? GROUP_MODE : OWN_MODE, gid: groupOf(settings.allocator.group) },
        clock,
        replaces: true,
        onConnection: (socket) => this.#door.take(socket),
        onError: acceptFailed,
        onMovedAside: (message) => log.warn('allocation.moved-aside', message),
      }),
      degraded: (why) => degraded(why === undefined ? undefined : `devices cannot be asked for on ${path}: ${why}`),
    });
  }

  /** Serves. Never rejects: a socket that cannot be made costs new leases, never the daemon. */
  open(): Promise<void> {
    return this.#listener.open();
  }

  /** Ends the streams of lease followers, stops listening and lets calls in flight end within the `callsMs` milliseconds that are left. */
  async close(callsMs: () => number): Promise<void> {
    this.#endStreams();
    this.#listener.close();
    await this.#door.hush();
    await this.#door.drain(callsMs());
  }
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
