// Everything that is done to names in directories which others may write. Such a directory is opened once and each name
// is reached through its descriptor (/proc/self/fd/N/name), so that nobody can exchange the directory, or one above it,
// between a look and an act; the last part of a path is never followed where it is a link. Synchronous on purpose: these
// calls touch cached directory entries and cost microseconds; where they do not, they have a deadline (name-calls).
import { closeSync, constants, fstatSync, type BigIntStats } from 'node:fs';
import path from 'node:path';
import { ifPossible, isDone } from '../../kernel/if-possible.js';
import { incarnationKey, type Incarnation } from '../../model/ids.js';
import { isOursOrRoots, ownUid } from '../process/own-uid.js';
import { asKnown } from './as-known.js';
import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  O_PATH,
  opendirSync,
  openSync,
  realpathSync,
  renameSync,
  rmdirSync,
  statusOf,
  symlinkSync,
  unlinkSync,
  type Entry,
} from './name-calls.js';
import type { Writers } from './name-movers.js';
import { incarnationIf } from './socket-pin.js';
import { detachUsersMounts, mountOf, needNoUsersMount, statusAt } from './users-mounts.js';

const PERMISSIONS = 0o777n;
const PRIVATE_MODE = 0o700n;
/** Names that are read in one go: some milliseconds. */
const MOST_NAMES = 4096;
/** The file system, or a rule of the system (fs.protected_hardlinks), makes no second names. */
const NO_SECOND_NAME: ReadonlySet<string | undefined> = new Set(['EPERM', 'EOPNOTSUPP', 'ENOTSUP', 'ENOSYS', 'EMLINK']);
/** The most entries that are read; leftovers behind them stay. */
const MOST_ENTRIES = 1_000_000;

/** A directory that is held open, independent of its path. Close it. */
export class PinnedDirectory {
  /** Where it was found, for messages. */
  readonly path: string;
  readonly #fd: number;
  readonly #identity: string;
  #mount: number | undefined;
  #isClosed = false;

  private constructor(found: string, fd: number) {
    this.path = found;
    this.#fd = fd;
    this.#identity = identityOf(fstatSync(fd, { bigint: true }));
  }

  /**
   * Pins the directory at a path whose last part is no link.
   *
   * @param at another path to it, where other users may have made links on the way
   * @throws NodeJS.ErrnoException ENOENT, ENOTDIR (a link, or something else in its place), EACCES
   */
  static open(directory: string, at = directory): PinnedDirectory {
    return new PinnedDirectory(directory, openSync(at, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW));
  }

  /** The same for a directory that the configuration names: an operator may have put a link there. @throws as `open` */
  static openConfigured(directory: string): PinnedDirectory {
    return PinnedDirectory.open(realpathSync(directory));
  }

  /** The path that leads to a name in it, for a call that follows no link at the end. @throws RangeError for more than a name */
  at(name: string): string {
    if (this.#isClosed) throw new Error(`${this.path} was let go`);
    if (name === '' || name === '.' || name === '..' || /[/\0]/.test(name)) {
      throw new RangeError(`not a name in a directory: ${JSON.stringify(name)}`);
    }
    return `/proc/self/fd/${String(this.#fd)}/${name}`;
  }

  /**
   * Whether a path leads to this very directory now, links followed; so it is said, too, where the one above does not answer. Needs no
   * descriptor, which may be short.
   */
  isAt(directory: string): boolean {
    const now = asKnown(() => {
      const status = statusOf(directory);
      return status && identityOf(status);
    }, this.#identity);
    return now === this.#identity;
  }

  /** Tells held directories apart, independent of the names they were found by. */
  get identity(): string {
    return this.#identity;
  }

  /** Its owner, group and mode now. */
  writers(): Writers {
    return fstatSync(this.#fd);
  }

  /**
   * The names in it, in no order and at most `most` of them: users that may write it decide how many there are.
   *
   * @throws NodeJS.ErrnoException when it cannot be read
   */
  names(most = MOST_NAMES): string[] {
    const names: string[] = [];
    for (const { name } of this.entries()) if (names.push(name) >= most) break;
    return names;
  }

  /**
   * Its entries, the first million, read a little at a time as they are taken.
   *
   * @throws NodeJS.ErrnoException when it cannot be read
   */
  *entries(): Generator<Entry> {
    const opened = opendirSync(`/proc/self/fd/${String(this.#fd)}`);
    try {
      let left = MOST_ENTRIES;
      for (let entry = opened.readSync(); entry !== null && left > 0; entry = opened.readSync(), left -= 1) yield entry;
    } finally {
      opened.closeSync();
    }
  }

  /** Takes file systems that ordinary users mounted there off a name, where the system lets us. Never throws. */
  detachUsersMounts(name: string): void {
    ifPossible(() => detachUsersMounts(this.at(name), (this.#mount ??= mountOf(this.#fd)), isOursOrRoots));
  }

  /** The status of a name, links not followed; undefined where there is none. @throws NodeJS.ErrnoException EACCES: on a user's mount, too */
  status(name: string): BigIntStats | undefined {
    return statusAt(this.at(name), (fd) => needNoUsersMount(fd, (this.#mount ??= mountOf(this.#fd)), isOursOrRoots));
  }

  /**
   * The incarnation of the socket that has a name, links not followed; undefined where it is none.
   *
   * @param known the incarnation where the directory does not answer
   */
  incarnation(name: string, known?: Incarnation): Incarnation | undefined {
    // A directory that may not be entered has no socket for us.
    return asKnown(() => incarnationIf(this.status(name)), known);
  }

  /** Whether a name is that incarnation of a socket. */
  has(name: string, incarnation: Incarnation): boolean {
    const now = this.incarnation(name);
    return now !== undefined && incarnationKey(now) === incarnationKey(incarnation);
  }

  /** Removes a name. Fine when nothing has it. @throws NodeJS.ErrnoException EISDIR, EACCES */
  unlink(name: string): void {
    try {
      unlinkSync(this.at(name));
    } catch (failure) {
      if ((failure as NodeJS.ErrnoException).code !== 'ENOENT') throw failure;
    }
  }

  /**
   * Removes a name if it is that incarnation of a socket, compared immediately before. A user that exchanges it between the two
   * can write the directory, and loses a name of this directory that it could remove itself.
   *
   * @returns whether it was removed
   */
  unlinkIf(name: string, incarnation: Incarnation): boolean {
    return this.has(name, incarnation) && isDone(() => unlinkSync(this.at(name)));
  }

  /**
   * Gives that incarnation of a socket a second name in a private folder of the same file system. A file exchanged between the
   * look and the link is found out there, where nobody else can change it, and dropped.
   *
   * @returns whether `kept` is that incarnation now. False too where the file system or the system's rules
   * (fs.protected_hardlinks) make no second name
   */
  linkInto(name: string, incarnation: Incarnation, folder: PinnedDirectory, kept: string): boolean {
    if (!this.has(name, incarnation) || !isDone(() => linkSync(this.at(name), folder.at(kept)))) return false;
    const status = ifPossible(() => folder.status(kept));
    // Not by birth time: where a change time stands in for it, the second name has just changed it.
    if (
      status?.isSocket() === true &&
      String(status.dev) === incarnation.dev &&
      String(status.ino) === incarnation.ino
    ) {
      return true;
    }
    isDone(() => folder.unlink(kept)); // a folder of ours is swept when it is found again
    return false;
  }

  /**
   * Gives the socket that a private folder keeps its name here back, if that name is free, and then removes the kept one.
   *
   * @returns whether it has its name `back`; otherwise the kept name stays: the name is `taken`, or it `failed`, as on a full disk
   */
  putBack(folder: PinnedDirectory, kept: string, name: string): 'back' | 'taken' | 'failed' {
    try {
      linkSync(folder.at(kept), this.at(name));
    } catch (failure) {
      return (failure as NodeJS.ErrnoException).code === 'EEXIST' ? 'taken' : 'failed'; // EEXIST: somebody came meanwhile
    }
    isDone(() => folder.unlink(kept));
    return 'back';
  }

  /** Makes a symbolic link under a name that nothing has. @throws NodeJS.ErrnoException EEXIST, EACCES */
  symlink(name: string, target: string): void {
    symlinkSync(target, this.at(name));
  }

  /** Gives a name of it another one, over any file that has that. @throws NodeJS.ErrnoException */
  rename(name: string, newName: string): void {
    renameSync(this.at(name), this.at(newName));
  }

  /**
   * Moves a socket into a directory of the same file system, under a name that nothing has there. Not with rename(2), where a second
   * name can be made: between two directories that waits for the lock of the whole file system, which any user of the machine
   * can hold, and no signal ends it.
   *
   * @throws NodeJS.ErrnoException EEXIST, EACCES
   */
  move(name: string, target: PinnedDirectory, newName: string): void {
    try {
      linkSync(this.at(name), target.at(newName));
    } catch (failure) {
      if (!NO_SECOND_NAME.has((failure as NodeJS.ErrnoException).code)) throw failure;
      renameSync(this.at(name), target.at(newName));
      return;
    }
    this.unlink(name);
  }

  /** Makes an empty file that only we can read, under a name that nothing has. @throws NodeJS.ErrnoException EEXIST, EACCES */
  touch(name: string): void {
    closeSync(openSync(this.at(name), constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, 0o600));
  }

  /**
   * Makes a folder in it that only we can enter. It inherits the directory's settings for new files (set-group-ID, default ACL),
   * and so do the files made inside. A user that may write the directory may have exchanged it by the time it is opened.
   *
   * @throws NodeJS.ErrnoException EEXIST, EACCES
   */
  makeFolder(name: string): void {
    mkdirSync(this.at(name), Number(PRIVATE_MODE));
  }

  /** The same, under a name that begins with `prefix` and nobody can foresee. @returns its name @throws as `makeFolder` */
  makeFolderLike(prefix: string): string {
    return path.basename(mkdtempSync(this.at(prefix)));
  }

  /** Pins a folder in it that only we can enter; undefined for anything else, or nothing, of that name. Close it. */
  folder(name: string): PinnedDirectory | undefined {
    if (ifPossible(() => this.status(name))?.isDirectory() !== true) return undefined;
    const fd = ifPossible(() => openSync(this.at(name), O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW));
    if (fd === undefined) return undefined;
    const status = fstatSync(fd, { bigint: true });
    const isOurs = status.uid === BigInt(ownUid()) && (status.mode & PERMISSIONS) === PRIVATE_MODE;
    if (isOurs) return new PinnedDirectory(path.join(this.path, name), fd);
    closeSync(fd);
    return undefined;
  }

  /** Removes an empty folder; anything else of that name stays. */
  removeEmpty(name: string): void {
    ifPossible(() => rmdirSync(this.at(name))); // not empty, gone, or not a folder: it is not worth more
  }

  /** Lets the directory go. Idempotent. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    closeSync(this.#fd);
  }
}

/** Pins a directory for `work`, and lets it go after. @throws as `PinnedDirectory.openConfigured`, and the errors of `work` */
export function inDirectory<T>(directory: string, work: (pinned: PinnedDirectory) => T): T {
  const pinned = PinnedDirectory.openConfigured(directory);
  try {
    return work(pinned);
  } finally {
    pinned.close();
  }
}

/** A message of the system about a name in a pinned directory, with the path that people know instead of the handle. */
export function withPath(message: string, directory: string): string {
  return message.replaceAll(/\/proc\/self\/fd\/\d+(?=\/)/g, () => directory);
}

function identityOf(status: BigIntStats): string {
  return `${String(status.dev)}:${String(status.ino)}`;
}
