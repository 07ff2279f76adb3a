// A gRPC server on a unix socket, as plugins have one. Our own listener stands in front of grpc-js, so that a simulation
// can cut connections, leave its socket file behind, or speak something else than gRPC.
import { lstatSync } from 'node:fs';
import { createServer, type Server as NetServer, type Socket } from 'node:net';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { LONGEST_ALARM_MS } from '../kernel/clock.js';
import { ifPossible } from '../kernel/if-possible.js';
import { LONGEST_SOCKET_PATH } from '../model/root.js';
import type { GuardSettings } from '../model/settings.js';
import { SocketPlace } from '../platform/fs/socket-place.js';
import { Border } from '../platform/http2/border.js';
import { DEFAULT_GUARD } from '../platform/http2/default-guard.js';
import { takeNoDescriptors } from '../platform/peer/passed-descriptors.js';
import { systemClock } from '../platform/time/system-clock.js';
import { answersLeave } from '../platform/time/next-turn.js';

/** The answer to connections: gRPC; an HTTP/1.1 error page; random bytes; nothing at all; or nobody listens. */
export const SPEECHES = ['grpc', 'http1', 'garbage', 'silent', 'dead'] as const;
/** One of SPEECHES. */
export type Speech = (typeof SPEECHES)[number];

/**
 * No budgets and no deadlines: a registry may call as it likes. Blocks of headers alone are bounded, because they are decoded. The
 * border stands here because it repairs what registries and plugins in Go may send as `:authority`, and Node refuses: a bare path.
 */
const NO_GUARD: GuardSettings = {
  ...(Object.fromEntries(Object.keys(DEFAULT_GUARD).map((key) => [key, LONGEST_ALARM_MS])) as unknown as GuardSettings),
  headerBytes: DEFAULT_GUARD.headerBytes,
  continuations: DEFAULT_GUARD.continuations,
};

/** How a socket is closed. */
export interface CloseOptions {
  readonly keepFile?: boolean;
  readonly graceMs?: number;
}

/** A listening plugin socket. */
export class PluginServer {
  readonly path: string;
  readonly #listener: NetServer;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #place: SocketPlace | undefined;
  /** Of the bound socket: read also when nobody listens any more and the directory was let go. */
  #identity: string | undefined;
  #isClosed = false;

  /** Use `listen`. */
  constructor(socketPath: string, server: Server, speech: Speech) {
    this.path = socketPath;
    this.#server = server;
    const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
    this.#listener = createServer((socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => this.#sockets.delete(socket));
      const border = { guard: NO_GUARD, clock: systemClock, onEnd: () => undefined };
      if (speech === 'grpc') injector.injectConnection(new Border(socket, border));
      else speak(socket, speech);
    });
  }

  /**
   * Binds a socket, replacing any socket that is there, and serves on it.
   *
   * @param attach adds the services
   * @throws Error when the path is too long or cannot be bound
   */
  static async listen(
    socketPath: string,
    attach: (server: Server) => void,
    speech: Speech = 'grpc',
  ): Promise<PluginServer> {
    const bytes = Buffer.byteLength(socketPath);
    if (bytes > LONGEST_SOCKET_PATH) {
      throw new Error(
        `cannot listen on ${socketPath}: the path has ${bytes} bytes, a unix socket address holds ${LONGEST_SOCKET_PATH}`,
      );
    }
    const server = new Server({ 'grpc.enable_channelz': 0 });
    attach(server);
    const plugin = new PluginServer(socketPath, server, speech);
    await plugin.#bind();
    if (speech === 'dead') await plugin.close({ keepFile: true });
    return plugin;
  }

  /** Whether the path still leads to this very socket. */
  isInPlace(): boolean {
    return this.#identity !== undefined && identityOf(this.path) === this.#identity;
  }

  /** Open connections. */
  get connections(): number {
    return this.#sockets.size;
  }

  /** Cuts all connections and goes on listening. */
  cutConnections(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /**
   * Stops serving. The socket file is removed if it is still ours, unless it is to be left behind as by a killed process.
   *
   * @param options.graceMs how long calls that are ending have until their connections are cut
   */
  async close({ keepFile = false, graceMs = 0 }: CloseOptions = {}): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    // Where it cannot be removed, it has to be closed all the same.
    if (!keepFile) ifPossible(() => this.#place?.remove());
    const closed = new Promise<void>((resolve) => this.#listener.close(() => resolve()));
    if (graceMs > 0) await this.#drain(graceMs);
    this.#server.forceShutdown();
    this.cutConnections();
    await closed;
    this.#place?.close();
  }

  /** The library's word that it is done comes at once from Node 24 on (GrpcDoor.drain): connections are waited for. */
  async #drain(graceMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const left = [...this.#sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve)));
    this.#server.tryShutdown(() => undefined);
    const over = new Promise((resolve) => (timer = setTimeout(resolve, graceMs)));
    await Promise.race([Promise.all(left), over]);
    clearTimeout(timer);
    await answersLeave();
  }

  /**
   * Binds elsewhere and renames: a closing listener removes the name it was bound to, even if another process owns that by then.
   */
  async #bind(): Promise<void> {
    const place = SocketPlace.open(this.path);
    try {
      if (place.occupant().kind === 'other') throw new Error(`cannot listen on ${this.path}: it is not a socket`);
      await new Promise<void>((resolve, reject) => {
        this.#listener.once('error', reject);
        this.#listener.listen(place.bindPath, resolve);
      });
      takeNoDescriptors(this.#listener);
      this.#listener.on('error', () => undefined);
      // Before others can put a socket of theirs in its place.
      const bound = identityOf(place.bindPath);
      place.publish();
      const named = identityOf(this.path);
      // The name changes the time that stands in for the birth time on some file systems.
      this.#identity = fileOf(named) === fileOf(bound) ? named : bound;
      this.#place = place;
    } catch (failure) {
      this.#listener.close();
      place.close();
      throw failure;
    }
  }
}

/**
 * Tells sockets of the same path apart; undefined when there is none, or none that can be seen. Never throws: it is asked by
 * timers and watches, where nobody would catch it, and a registry that is cleaned up closes its directory for a moment.
 */
export function identityOf(file: string): string | undefined {
  const status = ifPossible(() => lstatSync(file, { bigint: true, throwIfNoEntry: false }));
  return status === undefined ? undefined : [status.dev, status.ino, status.birthtimeNs].join(':');
}

/** The part of an identity that no name changes: device and inode. */
function fileOf(identity: string | undefined): string | undefined {
  return identity?.split(':', 2).join(':');
}

function speak(socket: Socket, speech: Speech): void {
  socket.resume();
  if (speech === 'http1') socket.write('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n');
  else if (speech === 'garbage') socket.write(Buffer.alloc(512, 'no gRPC here '));
}
