// Our own unix listener. It binds in a private folder and is moved into place, because others may write the directory, because
// closing a Node listener unlinks the path it was bound to, even if another process owns that path by then, and because plugins
// wait for the name to appear.
import { createServer, type Server, type Socket } from 'node:net';
import path from 'node:path';
import { sleep, type Clock } from '../../kernel/clock.js';
import { withPath } from '../fs/pinned-directory.js';
import { MAX_SOCKET_PATH_BYTES } from '../fs/socket-pin.js';
import { SocketPlace, type SocketAccess } from '../fs/socket-place.js';
import { isKilledListener } from '../peer/killed-listener.js';
import { acceptInLine } from '../peer/out-of-band.js';
import { dialUnix, takeNoDescriptors } from '../peer/passed-descriptors.js';
import { NO_READ_AHEAD } from '../peer/read-ahead.js';
import { slices } from '../time/slices.js';

/** How often one that waits to be replaced looks whether it is. */
const REPLACED_LOOK_MS = 5;
/** How long a listener at our path has to answer a bare connect before it counts as dead. */
const ANSWER_WITHIN_MS = 500;
/**
 * Connections the kernel queues for us; more are refused by it with EAGAIN. Linux holds the number to net.core.somaxconn,
 * 4,096 where nobody changed it.
 */
const BACKLOG = 4096;

/** The path cannot be ours: the sentence names the file there and the remedy. */
export class PathTaken extends Error {
  override readonly name = 'PathTaken';
}

/** The options of a listener. */
export interface ListenerOptions {
  /** The public path. */
  readonly path: string;
  /** The users that may connect. */
  readonly access: SocketAccess;
  readonly clock: Clock;
  /**
   * A living listener of root or of our own user at the path is replaced: always, where it is a stopping broker of the same root,
   * whose lock we hold, or where it is to be, asked by a path that leads to it.
   */
  readonly replaces: boolean | ((file: string) => Promise<boolean>);
  /** It takes the place of the socket before it without a moment in which there is none: for clients that do not watch the path. */
  readonly isAtOnce?: boolean;
  /** Takes each accepted connection, which is paused: `GrpcDoor.take` (platform/grpc/grpc-door) of the door that is served on the socket. */
  readonly onConnection: (socket: Socket) => void;
  /**
   * Accepting failed (out of file descriptors); the listener goes on: `DescriptorReserve.acceptFailed`
   * (flood/descriptor-reserve).
   */
  readonly onError: (failure: Error) => void;
  /** Something foreign had the public path and was moved aside: one sentence, for the log. */
  readonly onMovedAside: (message: string) => void;
}

/** A bound listener; nobody sees it until it is published. */
export class UnixListener {
  readonly #options: ListenerOptions;
  readonly #server: Server;
  readonly #place: SocketPlace;
  #isPublished = false;

  constructor(options: ListenerOptions, server: Server, place: SocketPlace) {
    this.#options = options;
    this.#server = server;
    this.#place = place;
  }

  /**
   * Binds and listens in a private folder beside the public path.
   *
   * @throws PathTaken when the path is too long, another process answers on it, or the system refuses it
   */
  static async bind(options: ListenerOptions): Promise<UnixListener> {
    const { path: publicPath, access, clock, replaces } = options;
    const bytes = Buffer.byteLength(publicPath);
    if (bytes > MAX_SOCKET_PATH_BYTES) {
      throw new PathTaken(
        `cannot listen on ${publicPath}: the path has ${String(bytes)} bytes and a unix socket address holds ${String(MAX_SOCKET_PATH_BYTES)}; choose a shorter --root or set the path in the configuration`,
      );
    }
    const place = opened(publicPath);
    // Nothing is read of a connection before somebody takes it.
    const server = createServer({ allowHalfOpen: false, pauseOnConnect: true, ...NO_READ_AHEAD }, options.onConnection);
    try {
      if (replaces !== true) await checkFree(place, clock, replaces);
      await listening(server, place.bindPath);
      place.dress(access);
    } catch (failure) {
      server.close();
      place.close();
      throw failure instanceof PathTaken ? failure : refused(publicPath, failure as Error);
    }
    server.on('error', options.onError);
    return new UnixListener(options, server, place);
  }

  /** Whether it was put at its public path, wherever it is now. */
  get isPublished(): boolean {
    return this.#isPublished;
  }

  /**
   * Puts the socket at its public path. The old name is removed first, unless `isAtOnce`: plugins that wait for a removal and
   * plugins that wait for a creation both notice it.
   *
   * @throws PathTaken when something has the path that cannot be moved
   */
  publish(): void {
    const { path: publicPath, onMovedAside, isAtOnce } = this.#options;
    let moved: readonly string[];
    try {
      moved = this.#place.publish(isAtOnce);
    } catch (failure) {
      const { code, message } = failure as NodeJS.ErrnoException;
      if (code !== 'EBUSY') throw refused(publicPath, failure as Error);
      throw new PathTaken(
        `cannot listen on ${publicPath}: something is mounted there (${message}); container runtimes make a directory when a socket file is mounted that does not exist: mount its parent directory instead`,
      );
    }
    this.#isPublished = true;
    for (const name of moved) {
      onMovedAside(
        `something that was no socket had the name ${publicPath} and is ${path.join(path.dirname(publicPath), name)} now; look who made it, and remove it`,
      );
    }
  }

  /**
   * The same for the first listener of a life, which then removes files that killed brokers left beside the path: little by
   * little until it is closed, because others may have filled the directory.
   *
   * @throws PathTaken as `publish`
   */
  publishFirst(): void {
    this.publish();
    const { clock } = this.#options;
    void this.#place.sweep(async (socket) => !(await answers(socket, clock)), clock.wall(), slices());
  }

  /** Whether the public path still leads to this listener. */
  isInPlace(): boolean {
    return this.#place.isInPlace();
  }

  /** Whether somebody moved it away and back since the last call; while it is in place. */
  wasMoved(): boolean {
    return this.#place.wasMoved();
  }

  /**
   * Resolves when the public path leads to another listener, when the signal aborts, or after `limitMs` milliseconds. Connections that
   * the kernel queued here before that are accepted by then: closing the listener earlier would reset them.
   */
  async untilReplaced(limitMs: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const until = clock.mono() + limitMs;
    while (this.isInPlace() && !signal.aborted && clock.mono() < until) await sleep(clock, REPLACED_LOOK_MS);
    await sleep(clock, REPLACED_LOOK_MS);
  }

  /** Refuses further connections (they wait in the kernel until `maxConnections` is raised again). */
  set maxConnections(count: number) {
    this.#server.maxConnections = count;
  }

  /** Stops listening. The file at the public path stays: some plugins shut down when it goes. */
  close(): void {
    this.#server.close();
    this.#place.close();
  }
}

function opened(publicPath: string): SocketPlace {
  try {
    return SocketPlace.open(publicPath);
  } catch (failure) {
    throw refused(publicPath, failure as Error);
  }
}

function refused(publicPath: string, { message }: Error): PathTaken {
  return new PathTaken(
    `cannot listen on ${publicPath}: ${withPath(message, path.dirname(publicPath))}; the broker must be able to make files in ${path.dirname(publicPath)}`,
  );
}

/**
 * A kubelet and other brokers run as root or as our own user, and links to their sockets are made by these users. A file that
 * another user made at our path is a plugin's, listening or not, and does not keep us from starting. A file of these users may be a
 * plugin's, too: a process that may write the directory can give it any name.
 */
async function checkFree(place: SocketPlace, clock: Clock, replaces: ListenerOptions['replaces']): Promise<void> {
  const pinned = place.pinTrusted();
  if (pinned === undefined) return;
  try {
    if (!(await answers(pinned.dialPath, clock))) return;
    if (typeof replaces === 'function' && (await replaces(pinned.dialPath))) return;
  } finally {
    pinned.release();
  }
  throw new PathTaken(
    `cannot listen on ${place.path}: another process listens there (a kubelet or another broker); stop it, or give this broker another --root or paths.devicePlugins`,
  );
}

/** Whether somebody accepts connections at a path, who may answer: no process that was killed. */
export function answers(socketPath: string, clock: Clock): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = dialUnix(socketPath);
    const alarm = clock.alarm(ANSWER_WITHIN_MS, () => settle(false));
    const settle = (does: boolean): void => {
      alarm.cancel();
      probe.destroy();
      resolve(does);
    };
    probe.once('connect', () => settle(!isKilledListener(probe)));
    probe.once('error', () => settle(false));
  });
}

/** Binds a socket, which takes no descriptors that peers pass, and octets out of band in line with others. @throws NodeJS.ErrnoException */
export function listening(server: Server, bindPath: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ path: bindPath, backlog: BACKLOG }, () => {
      server.off('error', reject);
      takeNoDescriptors(server);
      acceptInLine(server);
      resolve();
    });
  });
}
