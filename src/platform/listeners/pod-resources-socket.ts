// PodResources on its socket. Every user that may enter its directory sees all owners, so the directory is not for everybody.
import path from 'node:path';
import type { UserFacts } from '../../model/ids.js';
import { UnreadAnswers } from '../grpc/unread-answers.js';
import type { Clock } from '../../kernel/clock.js';
import type { Settings } from '../../model/settings.js';
import { makeDirectory } from '../fs/directories.js';
import { GrpcDoor, type Accept } from '../grpc/grpc-door.js';
import { servePodResources, type PodResourcesPorts } from '../grpc/pod-resources-service.js';
import { KeptListener } from './kept-listener.js';

/** The name that clients know. */
const SOCKET = 'kubelet.sock';
/** The directory's mode decides who may connect. */
const SOCKET_MODE = 0o666;
/** Concurrent calls on one connection. */
const STREAMS = 16;
/** A request names a pod at most. */
const MAX_REQUEST_BYTES = 64 * 1024;

/** The ports of the socket. */
export interface PodResourcesSocketPorts extends PodResourcesPorts, UserFacts {
  readonly settings: Settings;
  readonly clock: Clock;
  /** The guard of connections. */
  readonly accept: Accept;
  /** Accepting failed; the listener goes on. */
  readonly acceptFailed: (failure: Error) => void;
  /** The socket cannot be opened (one sentence); undefined: that is over. */
  readonly degraded: (why: string | undefined) => void;
  /** It is about to close. */
  readonly closes?: () => void;
}

/** The socket, its directory and its server. */
export class PodResourcesSocket {
  readonly #door: GrpcDoor;
  readonly #listener: KeptListener;
  readonly #closes: (() => void) | undefined;

  constructor(ports: PodResourcesSocketPorts) {
    const { settings, clock, log, accept, acceptFailed, degraded } = ports;
    this.#closes = ports.closes;
    const unread = new UnreadAnswers(ports);
    this.#door = new GrpcDoor({ clock, accept, streams: STREAMS, maxRequestBytes: MAX_REQUEST_BYTES, unread });
    servePodResources(this.#door, ports);
    const directory = settings.paths.podResources;
    this.#listener = new KeptListener({
      clock,
      everyMs: () => settings.discovery.rescanMs,
      listener: () => {
        makeDirectory(directory);
        return {
          path: path.join(directory, SOCKET),
          access: { mode: SOCKET_MODE },
          clock,
          replaces: false,
          onConnection: (socket) => this.#door.take(socket),
          onError: acceptFailed,
          onMovedAside: (message) => log.warn('pod-resources.moved-aside', message),
        };
      },
      degraded: (why) =>
        degraded(why === undefined ? undefined : `the owners of devices cannot be read (PodResources): ${why}`),
    });
  }

  /** Opens the socket. Never rejects: without it leases work, and the broker reports the problem. */
  open(): Promise<void> {
    return this.#listener.open();
  }

  /** Stops listening, and ends all connections. @param callsMs milliseconds that are left for calls under way */
  async close(callsMs: () => number): Promise<void> {
    this.#closes?.();
    this.#listener.close();
    await this.#door.hush();
    await this.#door.drain(callsMs());
  }
}
