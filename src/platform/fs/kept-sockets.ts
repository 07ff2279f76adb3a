// Plugins' sockets that were removed so that their plugins register afresh. Each keeps a second name in a private folder
// beside it, so that a plugin which does not notice can be reached again: the first name is put back. What a broker that
// was killed left there is found at the next start.
import path from 'node:path';
import { incarnationKey, type Incarnation } from '../../model/ids.js';
import type { PinnedSocket } from '../../model/plugin.js';
import type { Settling } from '../../reconcile/settling.js';
import { slices } from '../time/slices.js';
import { realDirectory } from './directories.js';
import { PinnedDirectory } from './pinned-directory.js';
import { leftFolder, makePrivate, type PrivateFolder } from './private-folder.js';
import { pinSocket } from './socket-pin.js';
import type { SocketPaths } from './socket-paths.js';

/** Names in private folders: the inode of the socket, and the name it had. */
const KEPT_NAME = /^(\d+)-(?!\.{0,2}$)(.*)$/s;
/** What 0.1 renamed sockets to, and never removed. Whoever gives a socket such a name could remove it, too. */
const OLD_NAME = /^\.pb-aside-\d+$/;

/** Entries of a directory that are looked at in one go: a machine has a few hundred, others may make more. */
const NAMES_AT_ONCE = 4096;

/** A directory in which sockets were removed, and our folder in it. Both are held while something is kept. */
interface Place {
  readonly directory: PinnedDirectory;
  readonly folder: PrivateFolder;
  kept: number;
}

interface Kept {
  readonly place: Place;
  /** Its name in the private folder, and the one it had. */
  readonly keptName: string;
  readonly name: string;
}

/** What is needed of others. */
export interface KeptSocketsPorts {
  /** Whether somebody listens on a socket. */
  readonly isListening: (socket: PinnedSocket) => boolean;
  /** The way to directories: one above them may have been exchanged for a link. */
  readonly paths: Pick<SocketPaths, 'inDirectory'>;
  /** Asked for each of many names: what to wait for before the next one, so that calls are answered meanwhile. */
  readonly rest?: () => Promise<void> | undefined;
}

/** Removes sockets and puts them back. All calls but `adopt` take microseconds. */
export class KeptSockets {
  readonly #ports: KeptSocketsPorts;
  /** By key of the incarnation. */
  readonly #kept = new Map<string, Kept>();
  /** The newest place at a path. */
  readonly #places = new Map<string, Place>();
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
    let place: Place;
    try {
      place = this.#placeOf(path.dirname(file));
    } catch (failure) {
      return `no private folder can be made beside it (${(failure as Error).message})`;
    }
    const keptName = `${incarnation.ino}-${name}`;
    const { directory, folder } = place;
    place.kept += 1;
    if (!directory.linkInto(name, incarnation, folder.inside, keptName)) {
      this.#letGo(place);
      return directory.has(name, incarnation)
        ? 'no second name can be made for it (see fs.protected_hardlinks)'
        : 'another socket is at its path';
    }
    this.#kept.set(key, { place, keptName, name });
    // Where a change time stands in for the birth time, its second name has just changed that.
    const now = directory.incarnation(name);
    if (now !== undefined && isSameFile(now, incarnation) && directory.unlinkIf(name, now)) return undefined;
    this.discard(key);
    return 'its name cannot be removed';
  }

  /**
   * Gives a socket its name back where the name is free and somebody listens, and lets go of it in any case.
   *
   * @returns whether it has its name again
   */
  putBack(key: string): boolean {
    const kept = this.#kept.get(key);
    if (kept === undefined) return false;
    const isBack = this.#putBack(kept);
    this.discard(key);
    return isBack;
  }

  /** Lets go of what was kept. Unknown keys are ignored. */
  discard(key: string): void {
    const kept = this.#kept.get(key);
    if (kept === undefined) return;
    this.#kept.delete(key);
    kept.place.folder.inside.unlink(kept.keptName);
    this.#letGo(kept.place);
  }

  /**
   * Takes over what an earlier life of the broker kept in a directory, and removes what 0.1 left there. Of what belongs to
   * nobody that is known any more, sockets on which somebody listens get their names back. A directory that somebody has
   * filled takes a while, in which `remove` and `putBack` go on, and ends with `close`.
   *
   * @param settling knows whether somebody will ask for a socket
   * @returns why what is kept there stays as it is: the directory cannot be read or written
   */
  async adopt(directory: string, settling: Pick<Settling, 'isAwaited'>): Promise<string | undefined> {
    try {
      await this.#adoptAll(directory, settling);
      return undefined;
    } catch (failure) {
      return `what was kept of sockets in ${directory} is left there: ${(failure as Error).message}`;
    }
  }

  /** Lets the directories go; what is kept stays for the next life of the broker. */
  close(): void {
    this.#isClosed = true;
    for (const { place } of this.#kept.values()) closePlace(place);
    for (const place of this.#places.values()) closePlace(place);
    this.#kept.clear();
    this.#places.clear();
  }

  async #adoptAll(directory: string, settling: Pick<Settling, 'isAwaited'>): Promise<void> {
    const real = realDirectory(directory);
    if (real === undefined) return;
    const pinned = PinnedDirectory.open(real);
    const rest = this.#ports.rest ?? slices();
    let atOnce = NAMES_AT_ONCE;
    try {
      for (const entry of pinned.entries()) {
        if (OLD_NAME.test(entry.name)) removeSocket(pinned, entry.name);
        const folder = leftFolder(pinned, entry, 'kept');
        if (folder !== undefined) this.#adoptFolder(real, folder, settling);
        atOnce -= 1;
        const wait = atOnce > 0 ? undefined : rest();
        if (wait !== undefined) await wait;
        if (this.#isClosed) return;
      }
    } finally {
      pinned.close();
    }
  }

  /** What cannot be adopted stays where it is, and keeps nothing else from being adopted. */
  #adoptFolder(directory: string, folder: PrivateFolder, settling: Pick<Settling, 'isAwaited'>): void {
    try {
      for (const name of folder.sockets(KEPT_NAME)) this.#adopt(this.#placeOf(directory), folder, name, settling);
      folder.removeIfEmpty();
    } catch {
      // the next start tries again
    } finally {
      folder.close();
      const place = this.#places.get(directory);
      if (place?.kept === 0) this.#forget(place);
    }
  }

  #adopt(place: Place, folder: PrivateFolder, keptName: string, settling: Pick<Settling, 'isAwaited'>): void {
    const [, ino, name = ''] = KEPT_NAME.exec(keptName) ?? [];
    const incarnation = folder.inside.incarnation(keptName);
    if (incarnation === undefined || incarnation.ino !== ino) return;
    folder.inside.rename(keptName, place.folder.inside, keptName);
    place.kept += 1;
    const key = incarnationKey(incarnation);
    this.#kept.set(key, { place, keptName, name });
    if (place.directory.has(name, incarnation)) this.discard(key);
    else if (!settling.isAwaited(key)) this.putBack(key);
  }

  #putBack({ place, keptName, name }: Kept): boolean {
    const { directory, folder } = place;
    const pinned = pinSocket(folder.inside.at(keptName));
    if ('problem' in pinned) return false;
    const listens = this.#ports.isListening(pinned);
    pinned.release();
    return listens && directory.putBack(folder.inside, keptName, name);
  }

  /** The place at a path; another one where the directory was replaced. @throws NodeJS.ErrnoException */
  #placeOf(directory: string): Place {
    const known = this.#places.get(directory);
    const isKnown = (at: string): boolean => known?.directory.isAt(at) === true;
    const { inDirectory } = this.#ports.paths;
    if (known !== undefined && inDirectory(directory, isKnown)) return known;
    const pinned = inDirectory(directory, (at) => PinnedDirectory.open(directory, at));
    try {
      const place: Place = { directory: pinned, folder: makePrivate(pinned, 'kept'), kept: 0 };
      this.#places.set(directory, place);
      return place;
    } catch (failure) {
      pinned.close();
      throw failure;
    }
  }

  #letGo(place: Place): void {
    place.kept -= 1;
    if (place.kept === 0) this.#forget(place);
  }

  #forget(place: Place): void {
    place.folder.remove();
    place.directory.close();
    const { path: directory } = place.directory;
    if (this.#places.get(directory) === place) this.#places.delete(directory);
  }
}

function removeSocket(directory: PinnedDirectory, name: string): void {
  const incarnation = directory.incarnation(name);
  if (incarnation !== undefined) directory.unlinkIf(name, incarnation);
}

function isSameFile(a: Incarnation, b: Incarnation): boolean {
  return a.dev === b.dev && a.ino === b.ino;
}

function closePlace({ folder, directory }: Place): void {
  folder.close();
  directory.close();
}
