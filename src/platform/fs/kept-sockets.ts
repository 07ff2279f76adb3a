// Plugins' sockets that were removed so that their plugins register afresh. Each keeps a second name in a private folder beside
// it, so that a plugin which does not notice can be reached again: the first name is put back. The next start finds the folders
// of a broker that was killed.
import path from 'node:path';
import { isDone } from '../../kernel/if-possible.js';
import { incarnationKey } from '../../model/ids.js';
import type { Instance } from '../../model/instance.js';
import type { PinnedSocket } from '../../model/plugin.js';
import type { Settling } from '../../reconcile/settling.js';
import { slices } from '../time/slices.js';
import { realDirectory } from './directories.js';
import { freeNameTakers } from './name-movers.js';
import { PinnedDirectory } from './pinned-directory.js';
import { leftFolder, makePrivate, type PrivateFolder } from './private-folder.js';
import { isSameFile, pinSocket } from './socket-pin.js';
import type { SocketPaths } from './socket-paths.js';

/** Names in private folders: the inode of the socket, and the name it had. */
const KEPT_NAME = /^(\d+)-(?!\.{0,2}$)(.*)$/s;
/**
 * The names to which 0.1 renamed sockets, and which it never removed. A user that could give a socket such a name could remove
 * it, too.
 */
const OLD_NAME = /^\.pb-aside-\d+$/;

/** Entries of a directory that are looked at in one go: a machine has a few hundred, others may make more. */
const NAMES_AT_ONCE = 4096;

/** A directory in which sockets were removed, and our folder in it. Both are held while something is kept. */
interface Pair {
  readonly directory: PinnedDirectory;
  readonly folder: PrivateFolder;
  kept: number;
}

interface Kept {
  readonly pair: Pair;
  /** Its name in the private folder, and the one it had. */
  readonly keptName: string;
  readonly name: string;
}

/** Names that are looked at before the first rest, of all directories together, and the rests. */
interface Budget {
  left: number;
  readonly rest: () => Promise<void> | undefined;
}

/** The ports of the kept sockets. */
export interface KeptSocketsPorts {
  /** Whether somebody listens on a socket: `Peers.listenerOf` (platform/peer/peers) knows. */
  readonly isListening: (socket: PinnedSocket) => boolean;
  /** The way to directories: one above them may have been exchanged for a link. */
  readonly paths: Pick<SocketPaths, 'inDirectory'>;
  /** Called before each of many names: a promise to wait for, so that calls are answered meanwhile. */
  readonly rest?: () => Promise<void> | undefined;
}

/** Removes sockets and puts them back. All calls but `adopt` take microseconds. */
export class KeptSockets {
  readonly #ports: KeptSocketsPorts;
  /** By key of the incarnation. */
  readonly #kept = new Map<string, Kept>();
  /** The newest pair at a path. */
  readonly #pairs = new Map<string, Pair>();
  #isClosed = false;

  constructor(ports: KeptSocketsPorts) {
    this.#ports = ports;
  }

  /**
   * Removes the name of a socket once it has a second, private one.
   *
   * @returns why it was not removed; undefined when it was
   */
  remove({ path: file, incarnation }: PinnedSocket): string | undefined {
    const key = incarnationKey(incarnation);
    this.discard(key);
    const name = path.basename(file);
    let pair: Pair;
    try {
      pair = this.#pairOf(path.dirname(file));
    } catch (failure) {
      return `no private folder can be made beside it (${(failure as Error).message})`;
    }
    const keptName = `${incarnation.ino}-${name}`;
    const { directory, folder } = pair;
    pair.kept += 1;
    const takers = freeNameTakers(directory.writers());
    if (takers !== undefined) {
      this.#letGo(pair);
      return `${directory.path} ${takers}, who could take its name before its plugin does, although the directory is sticky: restart the plugin`;
    }
    if (!directory.linkInto(name, incarnation, folder.inside, keptName)) {
      // Asked before the directory is let go: it has no names afterwards.
      const isThere = directory.has(name, incarnation);
      this.#letGo(pair);
      return isThere
        ? 'no second name can be made for it (see fs.protected_hardlinks)'
        : 'another socket is at its path';
    }
    this.#kept.set(key, { pair, keptName, name });
    // Where a change time stands in for the birth time, its second name has just changed that.
    const now = directory.incarnation(name);
    if (now !== undefined && isSameFile(now, incarnation) && directory.unlinkIf(name, now)) return undefined;
    this.discard(key);
    return 'its name cannot be removed';
  }

  /**
   * Gives a socket its name back where the name is free and somebody listens, and lets go of it. Where the system does not let us (no
   * descriptor, no room on the disk), it is kept: it would be a plugin that listens on a socket without a name.
   *
   * @returns whether it has its name again
   */
  putBack(key: string): boolean {
    const kept = this.#kept.get(key);
    if (kept === undefined) return false;
    const outcome = this.#putBack(kept);
    if (outcome !== 'failed') this.discard(key);
    return outcome === 'back';
  }

  /** Drops a kept socket. Unknown keys are ignored; a name that cannot be removed is left to the next start. */
  discard(key: string): void {
    const kept = this.#kept.get(key);
    if (kept === undefined) return;
    this.#kept.delete(key);
    isDone(() => kept.pair.folder.inside.unlink(kept.keptName)); // read-only by now: nobody waits for an answer here
    this.#letGo(kept.pair);
  }

  /**
   * Takes over the sockets that an earlier life of the broker kept in a directory of plugins, and removes those that 0.1 left there. Of
   * sockets whose instance is not known any more, those on which somebody listens get their names back. A directory that somebody
   * has filled takes a while, in which `remove` and `putBack` go on, and ends with `close`.
   *
   * @param settling knows whether somebody will ask for a socket
   * @param instances of the checkpoint: sockets are kept beside those of plugins, which may lie in directories below it
   * @returns why what is kept there stays as it is: a directory cannot be read or written
   */
  async adopt(
    directory: string,
    settling: Pick<Settling, 'isAwaited'>,
    instances: Iterable<Pick<Instance, 'door' | 'endpointPath'>> = [],
  ): Promise<string | undefined> {
    const real = realDirectory(directory);
    if (real === undefined) return undefined;
    const below = new Set<string>();
    for (const { door, endpointPath } of instances)
      if (door === 'register' && endpointPath.startsWith(`${real}/`)) below.add(path.dirname(endpointPath));
    below.delete(real);
    const budget = { left: NAMES_AT_ONCE, rest: this.#ports.rest ?? slices() };
    const problem = await this.#adoptIn(real, settling, budget);
    // One below may have gone, or be a user's that nobody else enters: nothing can be kept there then.
    for (const one of below) if (!this.#isClosed) await this.#adoptIn(one, settling, budget);
    return problem;
  }

  /** Closes the directories; kept sockets stay for the next life of the broker. */
  close(): void {
    this.#isClosed = true;
    for (const { pair } of this.#kept.values()) closePair(pair);
    for (const pair of this.#pairs.values()) closePair(pair);
    this.#kept.clear();
    this.#pairs.clear();
  }

  async #adoptIn(
    directory: string,
    settling: Pick<Settling, 'isAwaited'>,
    budget: Budget,
  ): Promise<string | undefined> {
    try {
      await this.#adoptAll(directory, settling, budget);
      return undefined;
    } catch (failure) {
      return `the kept sockets in ${directory} are left there: ${(failure as Error).message}`;
    }
  }

  async #adoptAll(directory: string, settling: Pick<Settling, 'isAwaited'>, budget: Budget): Promise<void> {
    // Below the directory of plugins one may be a user's, that makes it a link by now.
    const pinned = this.#ports.paths.inDirectory(directory, (at) => PinnedDirectory.open(directory, at));
    try {
      for (const entry of pinned.entries()) {
        if (OLD_NAME.test(entry.name)) removeSocket(pinned, entry.name);
        const folder = leftFolder(pinned, entry, 'kept');
        if (folder !== undefined) this.#adoptFolder(directory, folder, settling);
        budget.left -= 1;
        const wait = budget.left > 0 ? undefined : budget.rest();
        if (wait !== undefined) await wait;
        if (this.#isClosed) return;
      }
    } finally {
      pinned.close();
    }
  }

  /** Adopts the sockets of a folder. A socket that cannot be adopted stays where it is, and hinders no other. */
  #adoptFolder(directory: string, folder: PrivateFolder, settling: Pick<Settling, 'isAwaited'>): void {
    try {
      for (const name of folder.sockets(KEPT_NAME)) this.#adopt(this.#pairOf(directory), folder, name, settling);
      folder.removeIfEmpty();
    } catch {
      // the next start tries again
    } finally {
      folder.close();
      const pair = this.#pairs.get(directory);
      if (pair?.kept === 0) this.#forget(pair);
    }
  }

  #adopt(pair: Pair, folder: PrivateFolder, keptName: string, settling: Pick<Settling, 'isAwaited'>): void {
    const [, ino, name = ''] = KEPT_NAME.exec(keptName) ?? [];
    const incarnation = folder.inside.incarnation(keptName);
    if (incarnation === undefined || incarnation.ino !== ino) return;
    folder.inside.move(keptName, pair.folder.inside, keptName);
    pair.kept += 1;
    const key = incarnationKey(incarnation);
    this.#kept.set(key, { pair, keptName, name });
    if (pair.directory.has(name, incarnation)) this.discard(key);
    else if (!settling.isAwaited(key)) this.putBack(key);
  }

  #putBack({ pair, keptName, name }: Kept): 'back' | 'over' | 'failed' {
    const { directory, folder } = pair;
    const pinned = pinSocket(folder.inside.at(keptName));
    if ('problem' in pinned) return pinned.problem === 'error' || pinned.problem === 'too-long' ? 'failed' : 'over';
    const listens = this.#ports.isListening(pinned);
    pinned.release();
    if (!listens) return 'over';
    const outcome = directory.putBack(folder.inside, keptName, name);
    return outcome === 'taken' ? 'over' : outcome;
  }

  /** The pair at a path; another one where the directory was replaced. @throws NodeJS.ErrnoException */
  #pairOf(directory: string): Pair {
    const known = this.#pairs.get(directory);
    const isKnown = (at: string): boolean => known?.directory.isAt(at) === true;
    const { inDirectory } = this.#ports.paths;
    if (known !== undefined && inDirectory(directory, isKnown)) return known;
    const pinned = inDirectory(directory, (at) => PinnedDirectory.open(directory, at));
    try {
      const pair: Pair = { directory: pinned, folder: makePrivate(pinned, 'kept'), kept: 0 };
      this.#pairs.set(directory, pair);
      return pair;
    } catch (failure) {
      pinned.close();
      throw failure;
    }
  }

  #letGo(pair: Pair): void {
    pair.kept -= 1;
    if (pair.kept === 0) this.#forget(pair);
  }

  #forget(pair: Pair): void {
    pair.folder.remove();
    pair.directory.close();
    const { path: directory } = pair.directory;
    if (this.#pairs.get(directory) === pair) this.#pairs.delete(directory);
  }
}

function removeSocket(directory: PinnedDirectory, name: string): void {
  const incarnation = directory.incarnation(name);
  if (incarnation !== undefined) directory.unlinkIf(name, incarnation);
}

function closePair({ folder, directory }: Pair): void {
  folder.close();
  directory.close();
}
