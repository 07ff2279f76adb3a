// Opens a socket file without connecting to it (O_PATH), so that the checked file is the dialled one, and so that its inode
// cannot be used again while we know it. Synchronous on purpose: these calls read cached directory entries and cost microseconds,
// where a trip through the thread pool costs a hundred; where they do not, they have a deadline (name-calls).
import { closeSync, fstatSync, readlinkSync, type BigIntStats } from 'node:fs';
import { incarnationKey, type Incarnation } from '../../model/ids.js';
import type { PinnedSocket, PinProblem } from '../../model/plugin.js';
import { asKnown } from './as-known.js';
import { O_PATH, openSync, statusOf } from './name-calls.js';

/** The longest path that fits a unix socket address; Node 20 and 22 cut longer ones silently. */
export const MAX_SOCKET_PATH_BYTES = 107;

/** The identity of a file from its status. File systems without birth time report 0: their change time stands in. */
export function incarnationOf(status: BigIntStats): Incarnation {
  const born = status.birthtimeNs === 0n ? status.ctimeNs : status.birthtimeNs;
  return { dev: String(status.dev), ino: String(status.ino), birthNs: String(born) };
}

/** Whether both are one file: where the change time stands in for the birth time, a further name of it makes another incarnation. */
export function isSameFile(one: Incarnation, other: Incarnation | undefined): boolean {
  return one.dev === other?.dev && one.ino === other.ino;
}

/**
 * The incarnation of the socket that a path leads to now (links followed), or undefined where there is none.
 *
 * @param known the incarnation where the directory does not answer
 */
export function incarnationAt(path: string, known?: Incarnation): Incarnation | undefined {
  // A loop of links, or a directory we may not enter, has no socket for us.
  return asKnown(() => incarnationIf(statusOf(path)), known);
}

/** The key of the incarnation at a path now. @param known the key where the directory does not answer */
export function keyAt(path: string, known?: string): string | undefined {
  return asKnown(() => {
    const incarnation = incarnationIf(statusOf(path));
    return incarnation && incarnationKey(incarnation);
  }, known);
}

/** The incarnation of a file that is a socket. */
export function incarnationIf(status: BigIntStats | undefined): Incarnation | undefined {
  return status?.isSocket() === true ? incarnationOf(status) : undefined;
}

class Pin implements PinnedSocket {
  readonly path: string;
  readonly incarnation: Incarnation;
  readonly uid: number;
  readonly dialPath: string;
  readonly #fd: number;
  #holds = 1;

  constructor(fd: number, path: string, status: BigIntStats) {
    this.#fd = fd;
    this.path = path;
    this.incarnation = incarnationOf(status);
    this.uid = Number(status.uid);
    this.dialPath = `/proc/self/fd/${String(fd)}`;
  }

  retain(): PinnedSocket {
    // Its number may be somebody else's file by now.
    if (this.#holds === 0) throw new Error(`${this.path} was let go and cannot be held again`);
    this.#holds += 1;
    return this;
  }

  release(): void {
    if (this.#holds === 0) return;
    this.#holds -= 1;
    if (this.#holds === 0) closeSync(this.#fd);
  }
}

/**
 * Pins the socket that a path leads to.
 *
 * @param open opens it with O_PATH; where it is not given, links are followed
 * @returns the pin, with the path it really has; or why there is none
 */
export function pinSocket(path: string, open: () => number = () => openSync(path, O_PATH)): PinnedSocket | PinProblem {
  if (Buffer.byteLength(path) > MAX_SOCKET_PATH_BYTES) {
    return { problem: 'too-long', detail: `${String(Buffer.byteLength(path))} bytes` };
  }
  let fd: number;
  try {
    fd = open();
  } catch (failure) {
    const code = (failure as NodeJS.ErrnoException).code ?? 'unknown';
    return { problem: code === 'ENOENT' || code === 'ENOTDIR' ? 'missing' : 'error', detail: code };
  }
  try {
    const status = fstatSync(fd, { bigint: true });
    if (!status.isSocket()) {
      closeSync(fd);
      return { problem: 'not-a-socket', detail: status.isDirectory() ? 'a directory' : 'a file of another kind' };
    }
    // The kernel's own answer where this file is: no race between following links and opening.
    const real = readlinkSync(`/proc/self/fd/${String(fd)}`);
    if (real.endsWith(' (deleted)')) {
      closeSync(fd);
      return { problem: 'missing', detail: 'removed while it was looked at' };
    }
    return new Pin(fd, real, status);
  } catch (failure) {
    closeSync(fd);
    return { problem: 'error', detail: (failure as NodeJS.ErrnoException).code ?? 'unknown' };
  }
}
