// The place of a socket of ours: a name in a directory that others may write. The socket is bound in a private folder,
// gets its mode and group there, and only then its name: a path that is checked or changed after others can reach it
// may lead anywhere by then. (The umask would be no way: the whole process has one, the threads of the pool with it.)
import { randomBytes } from 'node:crypto';
import { chmodSync, closeSync, constants, fstatSync, lchownSync, openSync, type BigIntStats } from 'node:fs';
import path from 'node:path';
import { ifPossible } from '../../kernel/if-possible.js';
import { incarnationKey, type Incarnation } from '../../model/ids.js';
import { isOursOrRoots } from '../process/own-uid.js';
import type { PinnedSocket } from '../../model/plugin.js';
import { O_PATH, openSync as openName } from './name-calls.js';
import { PinnedDirectory } from './pinned-directory.js';
import { leftFolder, makePrivate, type PrivateFolder } from './private-folder.js';
import { incarnationOf, isSameFile, pinSocket } from './socket-pin.js';
import { umask } from './umask.js';

/**
 * Attempts to make a folder that somebody removes, or to free a name that somebody takes: a program that does nothing else wins
 * most races. Each attempt takes a tenth of a millisecond.
 */
const ATTEMPTS = 2048;
/** Names under which sockets are bound. */
const BOUND = /^\.s[0-9a-f]{12}$/;
/** A folder that nothing was made in or removed from for this long belongs to nobody: to bind takes milliseconds. */
const LEFT_MS = 60_000;
/** Somebody took the name, or changed its file, between the look and the act. */
const IN_THE_WAY: ReadonlySet<string | undefined> = new Set(['EISDIR', 'ENOTEMPTY', 'EEXIST', 'ENOTDIR', 'ENOENT']);

/** The users that may connect: file mode and group of a socket. */
export interface SocketAccess {
  readonly mode: number;
  /** Undefined: the group that the directory gives. */
  readonly gid?: number | undefined;
  /**
   * A default ACL of the directory lets in the users it names, beside the mode. Only where the umask takes the group's right to
   * write can the ACL be seen; else the mode alone counts.
   */
  readonly keepsAcl?: boolean;
}

/** The present owner of the name of a place before we take it. */
export type Occupant = { readonly kind: 'nothing' | 'socket' | 'link' | 'other'; readonly uid: number };

/** A place for one socket. Open it, bind at `bindPath`, `dress`, `publish`; close it after the listener. */
export class SocketPlace {
  readonly path: string;
  readonly #name: string;
  readonly #directory: PinnedDirectory;
  readonly #folder: PrivateFolder;
  /** A random name, so that a listener that removes its bound path too late hits no other; hidden from a kubelet's first walk. */
  readonly #bound = `.s${randomBytes(6).toString('hex')}`;
  #incarnation: Incarnation | undefined;
  /** The status of the socket when it was last looked at: each move of its name changes the time of its inode. */
  #published: BigIntStats | undefined;
  #isClosed = false;

  private constructor(file: string, directory: PinnedDirectory, folder: PrivateFolder) {
    this.path = file;
    this.#name = path.basename(file);
    this.#directory = directory;
    this.#folder = folder;
  }

  /** Opens the place of a path. @throws NodeJS.ErrnoException when its directory is missing or may not be written */
  static open(file: string): SocketPlace {
    const directory = PinnedDirectory.openConfigured(path.dirname(file));
    for (let attempt = 1; ; attempt += 1) {
      try {
        return new SocketPlace(file, directory, makePrivate(directory, 'listen'));
      } catch (failure) {
        // An exchanged folder fails without a code. A failure of the disk would come again with each attempt.
        const { code } = failure as NodeJS.ErrnoException;
        if (attempt < ATTEMPTS && (code === undefined || IN_THE_WAY.has(code))) continue;
        directory.close();
        throw failure;
      }
    }
  }

  /** Where the listener binds; good while the place is open. */
  get bindPath(): string {
    return this.#folder.inside.at(this.#bound);
  }

  /** The present file of the name, links not followed. @throws NodeJS.ErrnoException */
  occupant(): Occupant {
    // A directory that a user mounted a file system on can be neither looked at nor moved aside.
    this.#directory.detachUsersMounts(this.#name);
    const status = this.#directory.status(this.#name);
    if (status === undefined) return { kind: 'nothing', uid: -1 };
    return {
      kind: status.isSocket() ? 'socket' : status.isSymbolicLink() ? 'link' : 'other',
      uid: Number(status.uid),
    };
  }

  /**
   * Pins the socket that has the name, where it is root's or our user's, or a link of theirs leads to it: the one that is looked at is
   * the one that is dialled, whatever has the name by then.
   *
   * @throws Error when it cannot be seen what has the name
   */
  pinTrusted(): PinnedSocket | undefined {
    const isLinked = this.#isTrustedLink();
    const at = this.#directory.at(this.#name);
    const flags = O_PATH | (isLinked ? 0 : constants.O_NOFOLLOW);
    const pinned = pinSocket(at, () => openName(at, flags));
    if ('problem' in pinned) {
      if (pinned.problem === 'error' && !isLinked)
        throw new Error(`${this.path} cannot be looked at (${pinned.detail})`);
      return undefined;
    }
    if (isLinked ? this.#isTrustedLink() : isOursOrRoots(pinned.uid)) return pinned;
    pinned.release();
    return undefined;
  }

  /**
   * Removes sockets that dead brokers left in private folders here, where `isDead` says so, until the place is closed. Never
   * rejects: files that cannot be looked at or removed stay, and disturb nobody.
   *
   * @param nowMs epoch milliseconds: a folder that changed a moment ago belongs to another program of our user that is about to
   * listen
   * @param pause called for each entry of the directory: a promise to wait for before the next one
   */
  async sweep(
    isDead: (socket: string) => Promise<boolean>,
    nowMs: number,
    pause: () => Promise<void> | undefined,
  ): Promise<void> {
    try {
      for (const entry of this.#directory.entries()) {
        const folder = leftFolder(this.#directory, entry, 'listen', nowMs - LEFT_MS);
        if (folder !== undefined) await sweepFolder(folder, isDead);
        await pause();
        if (this.#isClosed) return;
      }
    } catch {
      // A directory that may be written and not read shows none.
    }
  }

  /** Gives the bound socket its mode and group, before anybody else can reach it. @throws NodeJS.ErrnoException */
  dress({ mode, gid, keepsAcl }: SocketAccess): void {
    const granted = keepsAcl === true ? this.#grantedByAcl() : 0;
    if (gid !== undefined) lchownSync(this.bindPath, -1, gid);
    chmodSync(this.bindPath, mode | granted);
  }

  /**
   * Gives the socket its name, in the place of a socket or a link; anything else that had it goes to a hidden name beside it.
   *
   * @param isAtOnce the name is never missing; otherwise the file that had it is removed before, for watchers that wait for a removal as
   *   for those that wait for a creation
   * @returns the hidden names of files moved aside
   * @throws NodeJS.ErrnoException when the name cannot be freed
   */
  publish(isAtOnce = false): readonly string[] {
    const moved: string[] = [];
    // Looked at where nobody else is: whoever may write the directory can give the name to a listener of its own at once.
    const bound = this.#folder.inside.incarnation(this.#bound);
    for (let attempt = 1; ; attempt += 1) {
      try {
        const { kind } = this.occupant();
        // Once a directory was moved aside, empty ones are removed: a user that makes them fast leaves no row of them behind.
        if (kind === 'other') {
          if (moved.length > 0) this.#directory.removeEmpty(this.#name);
          if (this.occupant().kind === 'other') moved.push(this.#moveAside());
        }
        this.#take(kind !== 'other' && isAtOnce);
        break;
      } catch (failure) {
        if (attempt === ATTEMPTS || !IN_THE_WAY.has((failure as NodeJS.ErrnoException).code)) throw failure;
      }
    }
    const published = ifPossible(() => this.#directory.status(this.#name));
    const isOurs = published?.isSocket() === true && isSameFile(incarnationOf(published), bound);
    // The name changes the time that stands in for the birth time on some file systems.
    this.#incarnation = isOurs ? incarnationOf(published) : bound;
    this.#published = isOurs ? published : undefined;
    this.#folder.removeIfEmpty();
    return moved;
  }

  /** Whether the path leads to our socket. */
  isInPlace(): boolean {
    // A link there is not followed: a user that may write the directory would choose how long that takes.
    const now = this.#directory.incarnation(this.#name, this.#incarnation);
    return this.#isOurs(now) && this.#directory.isAt(path.dirname(this.path));
  }

  /** Whether somebody moved the name away and back since the last call, or `publish`: nothing of the socket changed but its time. */
  wasMoved(): boolean {
    const before = this.#published;
    const now = ifPossible(() => this.#directory.status(this.#name));
    this.#published = now ?? before;
    if (before === undefined || now === undefined || now.ctimeNs === before.ctimeNs) return false;
    return now.mode === before.mode && now.uid === before.uid && now.gid === before.gid;
  }

  /** Removes the name if it is still our socket's. @returns whether it was @throws NodeJS.ErrnoException */
  remove(): boolean {
    if (!this.#isOurs(this.#directory.incarnation(this.#name))) return false;
    this.#directory.unlink(this.#name);
    return true;
  }

  #isOurs(now: Incarnation | undefined): boolean {
    const ours = this.#incarnation;
    return now !== undefined && ours !== undefined && incarnationKey(now) === incarnationKey(ours);
  }

  /** Removes the private folder; the socket keeps its name. Call it after the listener closed, which removes its bound path. */
  close(): void {
    this.#isClosed = true;
    this.#folder.remove();
    this.#directory.close();
  }

  /**
   * The grants of a default ACL to new files: rights that the umask forbids and a new file has all the same. Not seen on the
   * socket itself, to which the system applies the umask even so: its ACL has the entries, and a mask without their right to
   * write.
   */
  #grantedByAcl(): number {
    const probe = this.#folder.inside.at('.probe');
    const fd = openSync(probe, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, 0o777);
    try {
      return fstatSync(fd).mode & (umask() ?? 0) & 0o777;
    } finally {
      closeSync(fd);
      this.#folder.inside.unlink('.probe');
    }
  }

  #isTrustedLink(): boolean {
    const { kind, uid } = this.occupant();
    return kind === 'link' && isOursOrRoots(uid);
  }

  /** Gives the socket its name. @param isAtOnce the name has a file, and is never missing */
  #take(isAtOnce: boolean): void {
    if (!isAtOnce) {
      this.#directory.unlink(this.#name);
      this.#folder.inside.move(this.#bound, this.#directory, this.#name);
      return;
    }
    const hidden = `.pb-new-${randomBytes(4).toString('hex')}`;
    this.#folder.inside.move(this.#bound, this.#directory, hidden);
    try {
      this.#directory.rename(hidden, this.#name);
    } catch (failure) {
      this.#directory.move(hidden, this.#folder.inside, this.#bound);
      throw failure;
    }
  }

  #moveAside(): string {
    const hidden = `.pb-aside-${randomBytes(4).toString('hex')}`;
    this.#directory.rename(this.#name, hidden);
    return hidden;
  }
}

/** Removes the dead sockets of a folder, and the folder if it had no others. Lets it go. */
async function sweepFolder(folder: PrivateFolder, isDead: (socket: string) => Promise<boolean>): Promise<void> {
  try {
    for (const name of folder.sockets(BOUND)) {
      if (await isDead(folder.inside.at(name))) folder.inside.unlink(name);
    }
    folder.removeIfEmpty();
  } catch {
    // the next start tries again
  } finally {
    folder.close();
  }
}
