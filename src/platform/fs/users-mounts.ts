// File systems that a process of an ordinary user serves (FUSE, mounted with allow_other): the kernel asks that process at each
// look, and it answers when it likes, or never. Opening a directory or a file on a mount with O_PATH asks nobody, so such a mount
// is found before anything is asked.
import { closeSync, constants, fstatSync, openSync as open, readFileSync, readSync, type BigIntStats } from 'node:fs';
import { ifPossible } from '../../kernel/if-possible.js';
import { isOwnShortage } from '../../model/ids.js';
import { loadedLibc } from '../peer/libc.js';
import { O_PATH, openSync, statusOfName } from './name-calls.js';

/** The first lines of an fdinfo file, which name the mount. */
const INFO_BYTES = 256;
/** Mounts of a user on one name: fusermount makes 1,000 at most (mount_max). */
const MOST_MOUNTS = 1024;
const info = Buffer.alloc(INFO_BYTES);

/** The id of the mount that a descriptor is on; NaN where the system does not say. */
export function mountOf(fd: number): number {
  // One call where it takes three otherwise, and a look needs it for each directory on the way.
  return loadedLibc()?.mountOf(fd) ?? mountInProc(fd);
}

/** The same by its fdinfo file (proc(5)). */
export function mountInProc(fd: number): number {
  const file = open(`/proc/self/fdinfo/${String(fd)}`, 'r');
  try {
    const text = info.toString('latin1', 0, readSync(file, info, 0, INFO_BYTES, 0));
    return Number(/^mnt_id:\s*([0-9]+)$/m.exec(text)?.[1]);
  } finally {
    closeSync(file);
  }
}

/** A mount. */
export interface Mount {
  readonly point: string;
  /** The user whose process answers for it (FUSE), -1 where that is not said; undefined: the kernel itself does. */
  readonly server: number | undefined;
}

/**
 * The mount of a line of mountinfo (proc(5)): its point stands before a dash and its options, with spaces and the like as octal
 * escapes; behind it are the type, the source, which is any text that whoever mounted it chose, and the options of the file system.
 */
export function mountOfLine(line: string): Mount | undefined {
  const found = /^[0-9]+ \S+ \S+ \S+ (\S+) .*? - (\S+) \S* (.*)$/.exec(line);
  if (found === null) return undefined;
  const [, point = '', type = '', options = ''] = found;
  const server = type.startsWith('fuse') ? Number(/(?:^|,)user_id=([0-9]+)/.exec(options)?.[1] ?? -1) : undefined;
  const unescaped = point.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(parseInt(octal, 8)));
  return { point: unescaped, server };
}

/**
 * The mounts that mountinfo shows, read once for all looks of the code that runs now: a user may have a thousand mounts in a
 * directory, and a start looks at them all.
 */
export class MountTable {
  readonly #read: () => string;
  #lines: ReadonlyMap<number, string> | undefined;

  /** @param read the text of mountinfo (proc(5)); its errors are those of `of` */
  constructor(read: () => string = () => readFileSync('/proc/self/mountinfo', 'utf8')) {
    this.#read = read;
  }

  /** The mount of an id; undefined where none is listed. @throws NodeJS.ErrnoException */
  of(id: number): Mount | undefined {
    return mountOfLine(this.#known().get(id) ?? '');
  }

  #known(): ReadonlyMap<number, string> {
    if (this.#lines !== undefined) return this.#lines;
    const lines = this.#read().split('\n');
    queueMicrotask(() => (this.#lines = undefined));
    return (this.#lines = new Map(lines.map((line) => [parseInt(line, 10), line])));
  }
}

const mounts = new MountTable();

/**
 * Makes sure that the kernel itself, or a process of a trusted user, answers for the file behind a descriptor.
 *
 * @param root a mount that is known as good: nearly everything is on that one
 * @throws NodeJS.ErrnoException EACCES where a process of another user does
 */
export function needNoUsersMount(fd: number, root: number, isTrusted: (uid: number) => boolean): void {
  const mount = mountOf(fd);
  if (mount === root || Number.isNaN(mount)) return;
  const found = mounts.of(mount);
  // One that is not listed was mounted or unmounted just now, and may be anybody's.
  if (found !== undefined && (found.server === undefined || isTrusted(found.server))) return;
  throw Object.assign(new Error('EACCES: a file system of an ordinary user is mounted there'), { code: 'EACCES' });
}

/**
 * Takes the file systems of ordinary users off a name, as `umount -l` does: any user may mount one on a directory of its own (fusermount), and
 * the name is nobody else's then, nor can it be renamed. Mounts of others stay, and all where the system does not let us.
 *
 * @param root a mount that is known as good
 */
export function detachUsersMounts(at: string, root: number, isTrusted: (uid: number) => boolean): void {
  const isDetached = (): boolean => {
    const fd = ifPossible(() => openSync(at, O_PATH | constants.O_NOFOLLOW));
    if (fd === undefined) return false;
    try {
      const mount = mountOf(fd);
      const server = mount === root ? undefined : mounts.of(mount)?.server;
      // By the descriptor: the one that was looked at, whatever is mounted there by now.
      return server !== undefined && !isTrusted(server) && loadedLibc()?.detach(fd) === true;
    } finally {
      closeSync(fd);
    }
  };
  for (let left = MOST_MOUNTS; left > 0 && isDetached();) left -= 1;
}

/** Opens a name with O_PATH, links not followed. @param need see needNoUsersMount @throws NodeJS.ErrnoException */
export function openedAt(at: string, need: (fd: number) => void): number {
  const fd = openSync(at, O_PATH | constants.O_NOFOLLOW);
  try {
    need(fd);
    return fd;
  } catch (failure) {
    closeSync(fd);
    throw failure;
  }
}

/**
 * The status of a name, links not followed; undefined where there is none.
 *
 * @param need see needNoUsersMount
 * @throws NodeJS.ErrnoException
 */
export function statusAt(at: string, need: (fd: number) => void): BigIntStats | undefined {
  let fd: number;
  try {
    fd = openedAt(at, need);
  } catch (failure) {
    const code = (failure as NodeJS.ErrnoException).code ?? '';
    if (code === 'ENOENT') return undefined;
    if (isOwnShortage(code)) return statusOfName(at);
    throw failure;
  }
  try {
    return fstatSync(fd, { bigint: true });
  } finally {
    closeSync(fd);
  }
}
