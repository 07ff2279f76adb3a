// Our own unix listener. It binds under a private dot name and renames that into place, because closing a Node listener
// unlinks the path it was bound to, whoever owns that path by then, and because plugins wait for the name to appear.
import { chmodSync, lstatSync, readdirSync, renameSync, rmSync, unlinkSync, type Stats } from 'node:fs';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import path from 'node:path';
import type { Clock } from '../../kernel/clock.js';
import { incarnationKey } from '../../model/ids.js';
import { incarnationAt, MAX_SOCKET_PATH_BYTES } from '../fs/socket-pin.js';

/** How long a listener at our path has to answer a bare connect before it counts as dead. */
const ANSWER_WITHIN_MS = 500;
/** Begins private names: hidden from plugins that watch the directory, and swept at the next start. */
const PRIVATE_PREFIX = '.pb-';
/** Connections the kernel queues for us; more are refused by it. */
const BACKLOG = 1024;

/** The path cannot be ours: the sentence says what is there and what to do. */
export class PathTaken extends Error {
  override readonly name = 'PathTaken';
}

/** What a listener is told. */
export interface ListenerOptions {
  /** The public path. */
  readonly path: string;
  /** File mode of the socket. */
  readonly mode: number;
  readonly clock: Clock;
  /** A living listener at the path is replaced: it is a stopping broker of the same root, whose lock we hold. */
  readonly replaces: boolean;
  readonly onConnection: (socket: Socket) => void;
  /** Accepting failed (out of file descriptors); the listener goes on. */
  readonly onError: (failure: Error) => void;
}

/** A bound listener; nobody sees it until it is published. */
export class UnixListener {
  readonly #options: ListenerOptions;
  readonly #server: Server;
  readonly #privatePath: string;
  #key: string | undefined;
  #isPublished = false;

  constructor(options: ListenerOptions, server: Server, privatePath: string) {
    this.#options = options;
    this.#server = server;
    this.#privatePath = privatePath;
  }

  /**
   * Binds and listens under a private name beside the public one.
   *
   * @throws PathTaken when the path is too long, is no socket, another process answers on it, or the system refuses it
   */
  static async bind(options: ListenerOptions): Promise<UnixListener> {
    const { path: publicPath } = options;
    const bytes = Buffer.byteLength(publicPath);
    if (bytes > MAX_SOCKET_PATH_BYTES) {
      throw new PathTaken(
        `cannot listen on ${publicPath}: the path has ${String(bytes)} bytes and a unix socket address holds ${String(MAX_SOCKET_PATH_BYTES)}; choose a shorter --root or set the path in the configuration`,
      );
    }
    await checkFree(publicPath, options);
    const directory = path.dirname(publicPath);
    const privatePath = path.join(directory, privateName(path.basename(publicPath)));
    const server = createServer({ allowHalfOpen: false, pauseOnConnect: false }, options.onConnection);
    try {
      sweepPrivate(directory, path.basename(publicPath));
      await listen(server, privatePath);
      chmodSync(privatePath, options.mode);
    } catch (failure) {
      server.close();
      const why = (failure as Error).message;
      throw new PathTaken(
        `cannot listen on ${publicPath}: ${why}; the broker must be able to make files in ${directory}`,
      );
    }
    server.on('error', options.onError);
    return new UnixListener(options, server, privatePath);
  }

  /** Whether it was put at its public path, wherever it is now. */
  get isPublished(): boolean {
    return this.#isPublished;
  }

  /**
   * Puts the socket at its public path. The old name is removed first: plugins that wait for a removal and plugins
   * that wait for a creation both get their cue.
   */
  publish(): void {
    const { path: publicPath } = this.#options;
    try {
      unlinkSync(publicPath);
    } catch (failure) {
      if ((failure as NodeJS.ErrnoException).code !== 'ENOENT') throw failure;
    }
    renameSync(this.#privatePath, publicPath);
    this.#isPublished = true;
    const incarnation = incarnationAt(publicPath);
    this.#key = incarnation === undefined ? undefined : incarnationKey(incarnation);
  }

  /** Whether the public path still leads to this listener. */
  isInPlace(): boolean {
    const now = incarnationAt(this.#options.path);
    return now !== undefined && incarnationKey(now) === this.#key;
  }

  /** Refuses further connections (they wait in the kernel until `maxConnections` is raised again). */
  set maxConnections(count: number) {
    this.#server.maxConnections = count;
  }

  /** Stops listening. The file at the public path stays: some plugins shut down when it goes (contract 6). */
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
    });
  }
}

/** A name no longer than the public one where that is possible: it must fit the address, too. */
function privateName(publicName: string): string {
  return `${PRIVATE_PREFIX}${publicName.slice(0, 2)}${(process.pid % 46_656).toString(36)}`;
}

/** Removes private names that dead brokers left in the directory. */
function sweepPrivate(directory: string, publicName: string): void {
  for (const name of readdirSync(directory)) {
    if (name.startsWith(`${PRIVATE_PREFIX}${publicName.slice(0, 2)}`))
      rmSync(path.join(directory, name), { force: true });
  }
}

async function checkFree(publicPath: string, { clock, replaces }: ListenerOptions): Promise<void> {
  const status = statusOf(publicPath);
  if (status === undefined) return;
  if (status.isDirectory()) {
    throw new PathTaken(
      `cannot listen on ${publicPath}: it is a directory; container runtimes make one when a socket file is mounted that does not exist: mount its parent directory instead`,
    );
  }
  if (!status.isSocket() && !status.isSymbolicLink()) {
    throw new PathTaken(`cannot listen on ${publicPath}: it is a file that is not a socket; move it away`);
  }
  if (!replaces && (await answers(publicPath, clock))) {
    throw new PathTaken(
      `cannot listen on ${publicPath}: another process listens there (a kubelet or another broker); stop it, or give this broker another --root or paths.devicePlugins`,
    );
  }
}

function statusOf(publicPath: string): Stats | undefined {
  try {
    return lstatSync(publicPath, { throwIfNoEntry: false });
  } catch (failure) {
    throw new PathTaken(`cannot listen on ${publicPath}: ${(failure as Error).message}`);
  }
}

/** Whether somebody accepts connections at a path. */
export function answers(socketPath: string, clock: Clock): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createConnection(socketPath);
    const alarm = clock.alarm(ANSWER_WITHIN_MS, () => settle(false));
    const settle = (does: boolean): void => {
      alarm.cancel();
      probe.destroy();
      resolve(does);
    };
    probe.once('connect', () => settle(true));
    probe.once('error', () => settle(false));
  });
}

function listen(server: Server, privatePath: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ path: privatePath, backlog: BACKLOG }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
