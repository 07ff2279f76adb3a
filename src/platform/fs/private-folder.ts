// Private folders of the broker in directories that others may write. A user that may write such a directory can rename any
// folder in it, so name, owner and mode do not identify ours: a mark inside does, which only root and our user can have made.
// Nothing is touched in a folder without the mark, and in one with it only sockets with names of the broker's form.
import { ifPossible, isDone } from '../../kernel/if-possible.js';
import type { Entry } from './name-calls.js';
import type { PinnedDirectory } from './pinned-directory.js';

/** The purpose of a private folder: sockets on their way to their name; second names of sockets that were taken away. */
export type FolderPurpose = 'listen' | 'kept';

/** A folder that only we can enter, with our mark in it, inside a directory that others may write. */
export class PrivateFolder {
  /** Folders that this process made and holds, whichever part of it did. */
  static readonly #held = new Set<string>();
  /** The folder itself. */
  readonly inside: PinnedDirectory;
  /** Its name in the directory. */
  readonly name: string;
  readonly #parent: PinnedDirectory;
  readonly #mark: string;

  /** Use `makePrivate`, `leftFolder` or `ownFolder`. */
  constructor(parent: PinnedDirectory, name: string, inside: PinnedDirectory, mark: string) {
    this.#parent = parent;
    this.name = name;
    this.inside = inside;
    this.#mark = mark;
  }

  /** Whether this process made a folder and holds it: then it is nobody's leftover. */
  static isHeld({ identity }: PinnedDirectory): boolean {
    return PrivateFolder.#held.has(identity);
  }

  /** Keeps it from being a leftover until it is let go. */
  hold(): this {
    PrivateFolder.#held.add(this.inside.identity);
    return this;
  }

  /**
   * Names in it that have this form and are sockets' now, links not followed.
   *
   * @throws NodeJS.ErrnoException when it cannot be read
   */
  sockets(form: RegExp): string[] {
    return this.inside.names().filter((name) => form.test(name) && this.inside.incarnation(name) !== undefined);
  }

  /** Whether nothing but our mark is in it. @throws NodeJS.ErrnoException when it cannot be read */
  isEmpty(): boolean {
    return this.inside.names(2).every((name) => name === this.#mark);
  }

  /** Removes it if nothing but our mark is in it, and still holds it. The directory it is in must be held, too. */
  removeIfEmpty(): void {
    // Let go before, or it cannot be written: it is not worth more.
    if (ifPossible(() => this.isEmpty()) !== true || !isDone(() => this.inside.unlink(this.#mark))) return;
    this.#parent.removeEmpty(this.name);
  }

  /** The same, and lets it go. Idempotent. */
  remove(): void {
    this.removeIfEmpty();
    this.close();
  }

  /** Lets it go; it stays on the disk. Idempotent. */
  close(): void {
    PrivateFolder.#held.delete(this.inside.identity);
    this.inside.close();
  }
}

/**
 * Makes a folder that only we can enter, under a name that nobody can foresee. By its mark it is never empty, so that others
 * who may write the directory cannot remove it.
 *
 * @throws NodeJS.ErrnoException when it cannot be made; Error when somebody exchanged it at once
 */
export function makePrivate(parent: PinnedDirectory, purpose: FolderPurpose): PrivateFolder {
  const name = parent.makeFolderLike(prefixOf(purpose));
  const made = parent.folder(name);
  try {
    const folder = made === undefined ? undefined : marked(parent, name, made, markOf(purpose));
    if (folder !== undefined) {
      return folder.hold();
    }
    throw new Error(`${parent.path}/${name} was exchanged by another user as soon as it was made`);
  } catch (failure) {
    made?.close();
    parent.removeEmpty(name);
    throw failure;
  }
}

/**
 * The private folder that a broker of our user left under a name; nothing else of such a name, and none that this process holds.
 * An empty one without a mark yet, which any user that may write the directory could remove as well, is removed. Let it go.
 *
 * @param beforeMs epoch milliseconds: only a folder in which nothing was made or removed since then
 */
export function leftFolder(
  parent: PinnedDirectory,
  entry: Entry,
  purpose: FolderPurpose,
  beforeMs = Infinity,
): PrivateFolder | undefined {
  const { name } = entry;
  if (!name.startsWith(prefixOf(purpose)) || !entry.isDirectory()) return undefined;
  if (Number(ifPossible(() => parent.status(name))?.mtimeMs ?? 0) >= beforeMs) return undefined;
  const inside = parent.folder(name);
  if (inside === undefined) return undefined; // gone, or a folder of another user
  const mark = markOf(purpose);
  const isMarked = hasMark(inside, mark);
  if (isMarked && !PrivateFolder.isHeld(inside)) return new PrivateFolder(parent, name, inside, mark);
  inside.close();
  if (!isMarked) parent.removeEmpty(name);
  return undefined;
}

/**
 * Our folder of a fixed name, marked if it is empty.
 *
 * @returns undefined when there is none, or it is somebody else's. Let it go
 * @throws NodeJS.ErrnoException when it cannot be read or written
 */
export function ownFolder(parent: PinnedDirectory, name: string, mark: string): PrivateFolder | undefined {
  const inside = parent.folder(name);
  if (inside === undefined) return undefined;
  try {
    if (hasMark(inside, mark)) return new PrivateFolder(parent, name, inside, mark);
    const folder = marked(parent, name, inside, mark);
    if (folder === undefined) inside.close();
    return folder;
  } catch (failure) {
    inside.close();
    throw failure;
  }
}

/** Marks a folder; undefined when something is in it. @throws NodeJS.ErrnoException */
function marked(
  parent: PinnedDirectory,
  name: string,
  inside: PinnedDirectory,
  mark: string,
): PrivateFolder | undefined {
  if (inside.names(1).length > 0) return undefined;
  inside.touch(mark);
  return new PrivateFolder(parent, name, inside, mark);
}

/** Whether our mark is in a folder that only we can enter. */
function hasMark(inside: PinnedDirectory, mark: string): boolean {
  return ifPossible(() => inside.status(mark))?.isFile() === true;
}

/** A leading dot hides the folder from programs that look for sockets. */
function prefixOf(purpose: FolderPurpose): string {
  return `.pb-${purpose}-`;
}

/** A mark for each purpose, because a folder of the one can be given a name of the other. */
function markOf(purpose: FolderPurpose): string {
  return `.pb-${purpose}`;
}
