// Who is on the other side of a unix socket: the kernel's answer (SO_PEERCRED), or without koffi the owner of a file.
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import type { Caller } from '../../model/ids.js';
import type { PinnedSocket } from '../../model/plugin.js';
import {
  AF_UNIX,
  SO_PEERCRED,
  SOCK_CLOEXEC,
  SOCK_NONBLOCK,
  SOCK_STREAM,
  SOL_SOCKET,
  unixAddress,
  type Native,
} from './native.js';

/** Error numbers of connect() that mean something to us. */
const EAGAIN = 11;
const ERRNO_NAMES = new Map([
  [2, 'ENOENT'],
  [13, 'EACCES'],
  [24, 'EMFILE'],
  [91, 'EPROTOTYPE'],
  [111, 'ECONNREFUSED'],
]);
/** struct ucred: pid, uid, gid. */
const UCRED_BYTES = 12;

/** The process that listens on a socket, or why it cannot be known. */
export type ListenerFacts =
  | { readonly uid: number; readonly gid: number | undefined; readonly pid: number | undefined }
  | { readonly error: string };

/** Asks the kernel about peers. */
export class Peers {
  readonly #native: Native | undefined;

  /** @param native what loadNative() gave */
  constructor(native: Native | undefined) {
    this.#native = native;
  }

  /** Whether the kernel can be asked; otherwise owners of socket files stand in. */
  get isExact(): boolean {
    return this.#native !== undefined;
  }

  /** The process behind an accepted connection; undefined where it cannot be known. */
  peerOf(socket: Socket): Caller | undefined {
    // Node has no public way to the descriptor of a socket; without it the kernel cannot be asked.
    const { fd } = (socket as unknown as { _handle?: { fd?: number } })._handle ?? {};
    if (this.#native === undefined || fd === undefined || fd < 0) return undefined;
    const credentials = this.#credentials(this.#native, fd);
    if (credentials === undefined) return undefined;
    const { uid, gid, pid } = credentials;
    return { uid, gid, pid, startTime: startTimeOf(pid), source: 'peercred' };
  }

  /**
   * The process that listens on a pinned socket, found by connecting and hanging up at once. It takes microseconds and
   * never waits: a listener whose queue is full is named by the owner of its file.
   */
  listenerOf(socket: PinnedSocket): ListenerFacts {
    const byFile = { uid: socket.uid, gid: undefined, pid: undefined };
    const native = this.#native;
    if (native === undefined) return byFile;
    const fd = native.socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return { error: errnoName(native.errno()) };
    try {
      const address = unixAddress(socket.dialPath);
      if (native.connect(fd, address, address.length) !== 0) {
        const errno = native.errno();
        return errno === EAGAIN ? byFile : { error: errnoName(errno) };
      }
      return this.#credentials(native, fd) ?? byFile;
    } finally {
      native.close(fd);
    }
  }

  #credentials(native: Native, fd: number): { uid: number; gid: number; pid: number } | undefined {
    const value = Buffer.alloc(UCRED_BYTES);
    if (native.getsockopt(fd, SOL_SOCKET, SO_PEERCRED, value, [UCRED_BYTES]) !== 0) return undefined;
    return { pid: value.readInt32LE(0), uid: value.readUInt32LE(4), gid: value.readUInt32LE(8) };
  }
}

/**
 * When a process started, in clock ticks since boot (proc_pid_stat(5), field 22): a pid alone is used again.
 *
 * @returns undefined when the process is gone or not visible from here (another pid namespace)
 */
export function startTimeOf(pid: number): string | undefined {
  if (pid <= 0) return undefined;
  try {
    const stat = readFileSync(`/proc/${String(pid)}/stat`, 'latin1');
    // The command in parentheses may contain anything; fields are counted after its end.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined;
  }
}

function errnoName(errno: number): string {
  return ERRNO_NAMES.get(errno) ?? `errno ${String(errno)}`;
}
