// Calls about names in directories that other users may read or write. The kernel holds the lock of a directory while it gives
// somebody its names (getdents64), also while it waits for the page of memory to give them to, which that user may have made to
// come late or never (a private mapping of a file on its own FUSE; a hole that is punched in a file of memory). Who makes a name there then,
// or looks at one that is not in the kernel's cache, waits for as long. So the daemon asks the cache first (openat2 with
// RESOLVE_CACHED, Linux 5.12), and has a thread make every other call, for which it waits a short time.
//
// Programs beside the daemon make the calls themselves: they wait for nobody else.
import {
  closeSync,
  constants,
  fstatSync,
  linkSync as link,
  lstatSync as lstat,
  mkdirSync as mkdir,
  mkdtempSync as mkdtemp,
  opendirSync as opendir,
  openSync as open,
  readlinkSync as readlink,
  readFileSync,
  realpathSync as realpath,
  renameSync as rename,
  rmdirSync as rmdir,
  statSync as stat,
  symlinkSync as symlink,
  unlinkSync as unlink,
  type BigIntStats,
} from 'node:fs';
import { isOwnShortage, type UserFacts } from '../../model/ids.js';
import { loadLibc, type Libc } from '../peer/libc.js';
import { BoundedCalls, THROUGH, unanswered, type Calls } from './bounded-calls.js';
import { ENTRIES_AT_ONCE, type CallName, type ReadEntry } from './call-thread.js';

/** Linux's O_PATH, which Node does not name: the descriptor stands for the file, not for its content. */
export const O_PATH = 0o10000000;
const { O_CREAT, O_NOFOLLOW } = constants;
const SOCKET = 1;
const DIRECTORY = 2;
const LINK = 4;

/** An entry of a directory. */
export interface Entry {
  readonly name: string;
  isSocket(): boolean;
  isDirectory(): boolean;
  isSymbolicLink(): boolean;
}

/** A directory that is read. Close it. */
export interface Folder {
  /** @throws NodeJS.ErrnoException */
  readSync(): Entry | null;
  /** Does not throw where calls have a deadline: what was read before it counts. */
  closeSync(): void;
}

const once: { bounded?: BoundedCalls } = {};
/** The cache is asked by characters. */
const ASCII = /^[\x01-\x7f]*$/;

/**
 * From now on calls of this process about names in directories have a deadline.
 *
 * @param now milliseconds on the monotonic scale
 * @param users tells whose directories share one patience
 * @param libc asks the cache of the kernel; undefined: a thread makes all calls
 */
export function boundNameCalls(
  now: () => number,
  users: UserFacts,
  libc: Pick<Libc, 'openCached'> | undefined = loadLibc(),
): void {
  once.bounded ??= new BoundedCalls(now, users, libc);
}

/** Whether a call about a name hangs: then the process does not end before it, unless by a signal. */
export function isNameCallLate(): boolean {
  return once.bounded?.isLate ?? false;
}

/** As `openSync` of node:fs. @throws NodeJS.ErrnoException, here and in all that follow; `UNANSWERED` where a directory does not answer */
export function openSync(at: string, flags: number, mode?: number): number {
  const { bounded } = once;
  if (bounded === undefined) return open(at, flags, mode);
  const through = THROUGH.exec(at);
  // It leads to what is open: nothing is looked up in a directory.
  if (through !== null && through[2] === undefined) return open(at, flags, mode);
  const cached = (flags & O_CREAT) === 0 ? openCached(bounded.libc, at, flags) : undefined;
  return cached ?? (bounded.call('openSync', [at, flags, mode], bounded.placesOf(at)) as number);
}

/**
 * Opens what the kernel shows of a process or a control group: anybody may hold the locks of the directories of both.
 *
 * @param at each character is a byte of the path (latin1)
 * @param uid of the user whose process or group it is: what keeps us waiting there is told apart by user
 */
export function openShown(at: string, flags: number, uid: number): number {
  const { bounded } = once;
  if (bounded === undefined) return open(Buffer.from(at, 'latin1'), flags);
  const cached = ASCII.test(at) ? openCached(bounded.libc, at, flags) : undefined;
  return cached ?? (bounded.call('openSync', [{ latin1: at }, flags], [bounded.placeShown(at, uid)]) as number);
}

/** The text of such a file, which is short. @param at and `uid` as in `openShown` */
export function textShown(at: string, uid: number, encoding: 'latin1' | 'utf8' = 'latin1'): string {
  const fd = openShown(at, constants.O_RDONLY, uid);
  try {
    return readFileSync(fd, encoding);
  } finally {
    closeSync(fd);
  }
}

/** As `statSync` with `bigint`; undefined where nothing has the name. */
export function statusOf(at: string): BigIntStats | undefined {
  const { bounded } = once;
  if (bounded === undefined) return stat(at, { bigint: true, throwIfNoEntry: false });
  const [, fd, rest] = THROUGH.exec(at) ?? [];
  return fd !== undefined && rest === undefined ? fstatSync(Number(fd), { bigint: true }) : statusBy(at, O_PATH);
}

/** As `lstatSync` with `bigint`; undefined where nothing has the name. */
export function statusOfName(at: string): BigIntStats | undefined {
  const { bounded } = once;
  return bounded === undefined ? lstat(at, { bigint: true, throwIfNoEntry: false }) : statusBy(at, O_PATH | O_NOFOLLOW);
}

/** As `realpathSync`. */
export function realpathSync(at: string): string {
  return cachedPathOf(at) ?? made('realpathSync', [at], [at], () => realpath(at));
}

/** Where a path really leads, as the cache says it; undefined where the call has to be made. */
function cachedPathOf(at: string): string | undefined {
  const { bounded } = once;
  let fd: number | undefined;
  try {
    fd = bounded && openCached(bounded.libc, at, O_PATH);
  } catch (failure) {
    if (!isOwnShortage((failure as NodeJS.ErrnoException).code ?? '')) throw failure;
  }
  if (fd === undefined) return undefined;
  try {
    const real = readlink(`/proc/self/fd/${String(fd)}`);
    // A file that was removed meanwhile is called so, and one may have such a name.
    return real.endsWith(' (deleted)') ? undefined : real;
  } finally {
    closeSync(fd);
  }
}

/** As `readlinkSync`. */
export function readlinkSync(at: string): string {
  return made('readlinkSync', [at], [at], () => readlink(at));
}

/** As `linkSync`. */
export function linkSync(at: string, to: string): void {
  made('linkSync', [at, to], [at, to], () => link(at, to));
}

/** As `symlinkSync`. */
export function symlinkSync(target: string, at: string): void {
  made('symlinkSync', [target, at], [at], () => symlink(target, at));
}

/** As `unlinkSync`. */
export function unlinkSync(at: string): void {
  made('unlinkSync', [at], [at], () => unlink(at));
}

/** As `renameSync`. */
export function renameSync(at: string, to: string): void {
  made('renameSync', [at, to], [at, to], () => rename(at, to));
}

/** As `mkdirSync` without `recursive`. */
export function mkdirSync(at: string, mode: number): void {
  made('mkdirSync', [at, { mode }], [at], () => mkdir(at, { mode }));
}

/** Makes a directory and the missing ones above it. Where calls have a deadline, nothing is asked to be made that is there. */
export function makeDirectories(at: string, mode: number): void {
  if (once.bounded !== undefined && statusOf(at)?.isDirectory() === true) return;
  made('mkdirSync', [at, { recursive: true, mode }], [at], () => void mkdir(at, { recursive: true, mode }));
}

/** As `mkdtempSync`. */
export function mkdtempSync(prefix: string): string {
  return made('mkdtempSync', [prefix], [prefix], () => mkdtemp(prefix));
}

/** As `rmdirSync`. */
export function rmdirSync(at: string): void {
  made('rmdirSync', [at], [at], () => rmdir(at));
}

/** As `opendirSync`; its entries know three kinds, and the system gives so many at a time as one call reads. */
export function opendirSync(at: string): Folder {
  const { bounded } = once;
  if (bounded === undefined) return opendir(at, { bufferSize: ENTRIES_AT_ONCE });
  return new BoundedFolder(bounded, at);
}

/** Makes a call with a deadline where there is one, `direct` otherwise. @param at the paths that it goes by */
function made<T>(name: CallName, args: readonly unknown[], at: readonly string[], direct: () => T): T {
  const { bounded } = once;
  return bounded === undefined ? direct() : (bounded.call(name, args, bounded.placesOf(...at)) as T);
}

class BoundedFolder implements Folder {
  readonly #calls: BoundedCalls;
  readonly #places: readonly string[];
  readonly #id: number;
  readonly #thread: Calls | undefined;
  #entries: readonly ReadEntry[] = [];
  #next = 0;
  #isRead = false;

  constructor(calls: BoundedCalls, at: string) {
    this.#calls = calls;
    // The directory itself is locked while it is read, not the one above. The path may lead nowhere by then.
    this.#places = calls.placesOf(`${at}/.`);
    this.#id = calls.call('openFolder', [at, { bufferSize: ENTRIES_AT_ONCE }], this.#places) as number;
    this.#thread = calls.thread;
  }

  readSync(): Entry | null {
    if (this.#next === this.#entries.length && !this.#isRead) {
      if (this.#calls.thread !== this.#thread) throw unanswered('readFolder', this.#places);
      this.#entries = this.#calls.call('readFolder', [this.#id], this.#places) as readonly ReadEntry[];
      this.#next = 0;
      this.#isRead = this.#entries.length < ENTRIES_AT_ONCE;
    }
    const entry = this.#entries[this.#next];
    this.#next += 1;
    return entry === undefined ? null : entryOf(entry);
  }

  closeSync(): void {
    this.#calls.closeFolder(this.#thread, this.#id, this.#places);
  }
}

function entryOf([name, kind]: ReadEntry): Entry {
  return {
    name,
    isSocket: () => kind === SOCKET,
    isDirectory: () => kind === DIRECTORY,
    isSymbolicLink: () => kind === LINK,
  };
}

function statusBy(at: string, flags: number): BigIntStats | undefined {
  let fd: number;
  try {
    fd = openSync(at, flags);
  } catch (failure) {
    const { code } = failure as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    if (!isOwnShortage(code ?? '')) throw failure;
    // Without a descriptor to look with it is looked at all the same.
    return (flags & O_NOFOLLOW) === 0
      ? stat(at, { bigint: true, throwIfNoEntry: false })
      : lstat(at, { bigint: true, throwIfNoEntry: false });
  }
  try {
    return fstatSync(fd, { bigint: true });
  } finally {
    closeSync(fd);
  }
}

/**
 * What the cache says for certain. Not EAGAIN, where a name is not in it; nor what says that there is no such call: ENOSYS and EINVAL of
 * older kernels, EPERM of container runtimes that do not know it.
 */
const CERTAIN: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES', 'EMFILE', 'ENFILE']);

/**
 * The cache says EAGAIN, too, where anybody on the machine mounted or renamed something meanwhile: a user that does nothing else makes 7 % of
 * the looks miss.
 */
const TRIES = 5;

function openCached(libc: BoundedCalls['libc'], at: string, flags: number): number | undefined {
  const [, fd, rest] = THROUGH.exec(at) ?? [];
  const [from, name] = fd === undefined ? [undefined, at] : [Number(fd), rest ?? '.'];
  let opened = libc?.openCached(from, name, flags);
  for (let tries = 1; tries < TRIES && isMissed(opened); tries += 1) opened = libc?.openCached(from, name, flags);
  if (opened === undefined || typeof opened === 'number') return opened;
  if (!CERTAIN.has(opened.error)) return undefined;
  throw Object.assign(new Error(`${opened.error}: open '${at}'`), { code: opened.error, syscall: 'open', path: at });
}

function isMissed(opened: ReturnType<NonNullable<BoundedCalls['libc']>['openCached']> | undefined): boolean {
  return typeof opened === 'object' && opened.error === 'EAGAIN';
}
