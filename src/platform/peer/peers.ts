// The peers: the caller of a connection, and the process that listens on a plugin's socket.
import { Socket, type Server } from 'node:net';
import { mayListen, UNKNOWN_USER, type Caller, type Listener } from '../../model/ids.js';
import type { PinnedSocket } from '../../model/plugin.js';
import { descriptorOf } from '../process/descriptors.js';
import { procStat } from '../process/proc-stat.js';
import { NO_READ_AHEAD } from './read-ahead.js';
import { loadLibc, type Credentials, type Libc } from './libc.js';
import { unmappedUid } from './unmapped.js';

/**
 * Connections taken from the queue in one go: a millisecond. Four times as many are taken no faster, and keep everybody waiting.
 */
const TAKEN_AT_ONCE = 64;

/** Whether a connection is to be closed of which only the credentials of its peer are known (SO_PEERCRED). */
export type IsTurnedAway = (uid: number | undefined, pid: number | undefined) => boolean;

/** The same of a connection of TCP, of which the address of its other end and its user are known. */
export type IsTcpTurnedAway = (address: string, uid: number | 'nobody' | undefined) => boolean;

/** Asks the kernel (SO_PEERCRED) through koffi, which is loaded with the first question. */
export class Peers {
  readonly #load: () => Libc | undefined;
  readonly #unmapped: number | undefined;
  /** A queue is being gone through: a connection of it that is closed causes no further pass. */
  #isTaking = false;
  #libc: { readonly loaded: Libc | undefined } | undefined;

  /**
   * @param load how the system calls are found; tests hide them
   * @param unmapped the uid that the kernel shows for users of which our user namespace has none: they are UNKNOWN_USER
   */
  constructor(load: () => Libc | undefined = loadLibc, unmapped = unmappedUid()) {
    this.#load = load;
    this.#unmapped = unmapped;
  }

  /** Whether the kernel can be asked. Without koffi the owner of a socket file stands in for its listener. */
  get isExact(): boolean {
    return this.#calls() !== undefined;
  }

  /**
   * The process that opened an accepted connection, as it was when it connected. Undefined without koffi, or when the
   * connection is closed already.
   */
  peerOf(socket: Socket): Caller | undefined {
    const found = this.#credentialsOf(socket);
    if (found === undefined) return undefined;
    const pid = pidOf(found);
    const startTime = pid === undefined ? undefined : procStat(pid, found.uid)?.startTime;
    return { uid: found.uid, gid: found.gid, pid, startTime, source: 'peercred' };
  }

  /** The uid alone of the peer of an accepted connection: a refusal by it costs no look at a process. */
  uidOf(socket: Socket): number | undefined {
    return this.#credentialsOf(socket)?.uid;
  }

  /**
   * The uid of the process on this machine at the other end of a TCP connection. `nobody`: it is on another machine, in another network
   * namespace, or has closed its end; undefined: the kernel cannot be asked.
   */
  uidOfTcp({ remoteAddress, remotePort, localAddress, localPort }: Socket): number | 'nobody' | undefined {
    if (remoteAddress === undefined || remotePort === undefined) return undefined;
    if (localAddress === undefined || localPort === undefined) return undefined;
    return this.#calls()?.uidOfTcp(
      { address: remoteAddress, port: remotePort },
      { address: localAddress, port: localPort },
    );
  }

  /**
   * Takes the connections that wait behind a connection that was turned away, many at once, and closes those to be turned away,
   * too; others go the usual way. libuv takes one in each turn of the loop: a process that connects faster would fill the queue
   * for everybody.
   *
   * @param isTurnedAway told the uid and the pid, each undefined where it is not known; nobody looks at the process
   */
  turnAwayMore(socket: Socket, isTurnedAway: IsTurnedAway): void {
    // Node says of those alone that it accepted itself whose they are.
    const { server } = socket as Socket & { readonly server?: Server | null };
    if (server === undefined || server === null) return;
    this.#takeMore(server, (libc, listening) => {
      const fd = libc.accept(listening);
      if (typeof fd !== 'number') return undefined;
      const found = libc.peerOf(fd);
      return {
        fd,
        isAway: 'error' in found ? isTurnedAway(undefined, undefined) : isTurnedAway(this.#user(found), pidOf(found)),
      };
    });
  }

  /**
   * The same for a server of TCP.
   *
   * @param isTurnedAway told the address of the other end, and its uid as `uidOfTcp` says it
   */
  turnAwayMoreTcp(server: Server, isTurnedAway: IsTcpTurnedAway): void {
    this.#takeMore(server, (libc, listening) => {
      const found = libc.acceptTcp(listening);
      return 'error' in found ? undefined : { fd: found.fd, isAway: isTurnedAway(found.address, found.uid) };
    });
  }

  /**
   * The process that listens on exactly the socket that was pinned. EAGAIN: it listens, but accepts nobody; ECONNREFUSED: nobody
   * listens. Without koffi: the owner of the socket file, in place of the listener.
   */
  listenerOf(socket: PinnedSocket): Listener {
    const libc = this.#calls();
    if (libc === undefined) return { uid: this.#user(socket), gid: undefined, pid: undefined };
    const found = libc.listenerAt(socket.dialPath);
    if ('error' in found) return found;
    return { uid: this.#user(found), gid: found.gid, pid: pidOf(found) };
  }

  /** Whether somebody listens at a path, or might, because we cannot ask; in microseconds; undefined without koffi. */
  isListening(path: string): boolean | undefined {
    const found = this.#calls()?.listenerAt(path);
    return found && mayListen(found);
  }

  /** @param next takes one; undefined: no further one waits */
  #takeMore(
    server: Server,
    next: (libc: Libc, listening: number) => { readonly fd: number; readonly isAway: boolean } | undefined,
  ): void {
    const listening = descriptorOf(server);
    const libc = this.#calls();
    if (listening === undefined || libc === undefined || this.#isTaking) return;
    const { allowHalfOpen, pauseOnConnect } = server as Server & Record<'allowHalfOpen' | 'pauseOnConnect', boolean>;
    // As the server makes its own.
    const as = { allowHalfOpen, pauseOnCreate: pauseOnConnect };
    this.#isTaking = true;
    try {
      for (let taken = 0; taken < TAKEN_AT_ONCE; taken += 1) {
        const found = next(libc, listening);
        if (found === undefined) return;
        const { fd, isAway } = found;
        if (isAway) libc.close(fd);
        else server.emit('connection', new Socket({ fd, readable: true, writable: true, ...as, ...NO_READ_AHEAD }));
      }
    } finally {
      this.#isTaking = false;
    }
  }

  #credentialsOf(socket: Socket): Credentials | undefined {
    const fd = descriptorOf(socket);
    const found = fd === undefined ? undefined : this.#calls()?.peerOf(fd);
    return found === undefined || 'error' in found ? undefined : { ...found, uid: this.#user(found) };
  }

  #user({ uid }: { readonly uid: number }): number {
    return uid === this.#unmapped ? UNKNOWN_USER : uid;
  }

  #calls(): Libc | undefined {
    this.#libc ??= { loaded: this.#load() };
    return this.#libc.loaded;
  }
}

/** Undefined where the process is not visible from here. */
function pidOf({ pid }: Credentials): number | undefined {
  return pid === 0 ? undefined : pid;
}
