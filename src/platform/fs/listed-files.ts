// The files below a directory that others may fill: read as they are taken, within bounds, and root's before those of others.
import { ifPossible } from '../../kernel/if-possible.js';
import { isOursOrRoots } from '../process/own-uid.js';
import { opendirSync, statusOf } from './name-calls.js';
import type { SocketPaths } from './socket-paths.js';

/**
 * Directories that are followed at most, and read at each look: below names of the root that are root's or the broker's user's, and as many
 * below those of others, which leave root's alone.
 */
export const MOST_DIRECTORIES = 1024;
/** Directories that are followed below one name of the root, so that a user that makes many leaves room for others. */
export const MOST_BELOW_ONE = 256;
/** Depth of directories below the root that are followed. */
export const MAX_DEPTH = 16;
/**
 * Bytes of a directory of an ordinary user: a longer one is not read. It had tens of thousands of names, and some file systems (ext4) never
 * make it shorter: the system goes over all of it for the next name, at once, and there may be none.
 */
export const MOST_BYTES = 1024 * 1024;
/**
 * A directory of an ordinary user counts as one more of those that are read for each of so many bytes: from a disk a MiB takes 13 ms, and
 * all are read in one go at a start.
 */
export const BYTES_OF_ONE = 64 * 1024;
/** Directories are reached by it alone: users that may write one above them can exchange them at any time. */
export type Ways = Pick<SocketPaths, 'inDirectory'>;

/** Whether a directory is root's or that of the broker's user. */
export function isOfTrusted(ways: Ways, directory: string): boolean {
  return ifPossible(() => ways.inDirectory(directory, (at) => isOursOrRoots(Number(statusOf(at)?.uid ?? -1)))) ?? false;
}

/** The entries of a directory that may be sockets or directories; undefined for others. */
export function* entriesIn(ways: Ways, directory: string): Generator<string | undefined> {
  for (const name of namesIn(ways, directory, () => true)) yield name?.path;
}

/** An entry of a directory. */
interface Name {
  readonly path: string;
  readonly isDirectory: boolean;
}

/**
 * Reads a directory a little at a time: the user that fills it decides how long it is. Undefined for regular files and hidden
 * names. Empty where it cannot be read.
 *
 * @param hasRoom whether as much as so many short directories may be read besides
 */
function* namesIn(ways: Ways, directory: string, hasRoom: (further: number) => boolean): Generator<Name | undefined> {
  let opened;
  try {
    opened = ways.inDirectory(directory, (at) => {
      const status = statusOf(at);
      if (status === undefined) return undefined;
      const size = Number(status.size);
      const isTrusted = isOursOrRoots(Number(status.uid));
      const mayBeRead = isTrusted || (size <= MOST_BYTES && hasRoom(Math.floor(size / BYTES_OF_ONE)));
      return mayBeRead ? opendirSync(at) : undefined;
    });
    if (opened === undefined) return;
    for (let entry = opened.readSync(); entry !== null; entry = opened.readSync()) {
      const isNothing =
        entry.name.startsWith('.') || !(entry.isSocket() || entry.isDirectory() || entry.isSymbolicLink());
      yield isNothing ? undefined : { path: `${directory}/${entry.name}`, isDirectory: entry.isDirectory() };
    }
  } catch {
    // removed or unreadable: nothing to find there now
  } finally {
    opened?.closeSync();
  }
}

/** How many directories may still be read. */
interface Room {
  left: number;
}

/** Takes room for so many in each, if there is. */
function take(rooms: readonly Room[], count: number): boolean {
  if (rooms.some(({ left }) => left < count)) return false;
  for (const room of rooms) room.left -= count;
  return true;
}

/**
 * The files below a directory that may be sockets, links included and hidden names left out, read as they are taken; undefined
 * for other files. Directories too deep, too long, too many or unreadable are skipped; those below names of root
 * and of the broker's user come first, and others take nothing of their number.
 *
 * @param met called with each directory before it is read
 */
export function* listFiles(
  ways: Ways,
  root: string,
  met: (directory: string) => void = () => undefined,
): Generator<string | undefined> {
  /** Reads one directory. Of its directories each list remembers as many as are read at all. */
  function* read(
    directory: string,
    rooms: readonly Room[],
    listOf: (below: string) => string[],
  ): Generator<string | undefined> {
    met(directory);
    for (const name of namesIn(ways, directory, (further) => take(rooms, further))) {
      if (name?.isDirectory === true) {
        const list = listOf(name.path);
        if (list.length < MOST_DIRECTORIES) list.push(name.path);
      }
      yield name?.isDirectory === true ? undefined : name?.path;
    }
  }
  function* walk(directory: string, depth: number, ...rooms: readonly Room[]): Generator<string | undefined> {
    if (!take(rooms, 1)) return;
    const below: string[] = [];
    yield* read(directory, rooms, () => below);
    if (depth === MAX_DEPTH) return;
    for (const one of below) yield* walk(one, depth + 1, ...rooms);
  }
  const [ofTrusted, ofOthers]: [string[], string[]] = [[], []];
  yield* read(root, [], (name) => (isOfTrusted(ways, name) ? ofTrusted : ofOthers));
  for (const names of [ofTrusted, ofOthers]) {
    const all: Room = { left: MOST_DIRECTORIES };
    for (const name of names) yield* walk(name, 1, all, { left: MOST_BELOW_ONE });
  }
}
