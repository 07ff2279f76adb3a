// Reports changes below a directory: one watch for each directory, none for files. An event is only a hint; looking decides.
// chokidar would read a directory as a whole and ask for the status of every entry after each change in it, and a user that fills
// a directory decides how many there are.
import path from 'node:path';
import type { BelowDirectory } from '../../discovery/ports.js';
import { asError, type Alarm, type Clock } from '../../kernel/clock.js';
import type { Turns } from '../../kernel/pace.js';
import { isOwnShortage, UNANSWERED } from '../../model/ids.js';
import {
  entriesIn,
  isOfTrusted,
  listFiles,
  MAX_DEPTH,
  MOST_BELOW_ONE,
  MOST_DIRECTORIES,
  type Ways,
} from './listed-files.js';
import { directoryMarks, type Marks } from '../peer/directory-marks.js';
import { systemClock } from '../time/system-clock.js';
import { makeDirectory } from './directories.js';
import { eventBudget, PacedWatch, restAfterMs } from './paced-watch.js';
import { identityOf, whyUnwatched } from './watched-root.js';

/**
 * The listener of a watch. SocketListeners (platform/listeners/socket-listeners) passes its events to Discovery
 * (discovery/discovery).
 */
export interface WatchEvents {
  /** Look at this path: it may have changed. A path that is no socket is to be passed to `follow`. */
  readonly hint: (path: string) => void;
  /** Look at everything: the watch was set up anew. */
  readonly rescan: () => void;
  /** Look at everything soon: events may have been lost, of other directories, too. */
  readonly lost: () => void;
  /** The watch does not work (undefined: it works). Until then only the rescan finds changes. */
  readonly degraded: (why: string | undefined) => void;
}

/** The errors of a directory that was removed, exchanged or closed meanwhile. */
const NOT_THERE: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM', 'ELOOP']);
/** Those of them after which it is another one, should it come back. */
const GONE: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ENOTDIR', 'ELOOP']);
const NOTHING: BelowDirectory = { isOther: false };
/** Names among which directories are looked for before the watch counts as set up. */
const NAMES_AT_START = 4096;

/** Whether a path below the root has a part that begins with a dot: such names are ignored (kubelet rule). */
export function isHidden(root: string, file: string): boolean {
  // Asked for each event: taking the path apart costs a multiple.
  if (file.startsWith(`${root}/`)) return file.includes('/.', root.length);
  const relative = path.relative(root, file);
  return relative.split('/').some((part) => part.startsWith('.') && part !== '..');
}

/** What the directories below one name of the root share. */
interface Top {
  count: number;
  readonly isTrusted: boolean;
  readonly budget: Turns;
  /** Monotonic milliseconds: until then no further directory below it is watched, where that of one took long. */
  restsUntil: number;
  /** Some were not: everything is looked at after that. */
  owed?: Alarm | undefined;
}

/** A directory that is followed. */
interface Followed {
  readonly identity: string;
  readonly watch: PacedWatch;
  /** The name of the root it is below. */
  readonly top: string;
  /** Its events were not taken for a moment. */
  isStale: boolean;
  /** Its watch stood. */
  wasWatched: boolean;
  /** Its watch failed: the next look begins anew. */
  isLost: boolean;
}

/** Watches one directory tree. */
export class DirectoryWatch {
  readonly #ways: Ways;
  readonly #root: string;
  readonly #events: WatchEvents;
  readonly #clock: Clock;
  readonly #marks: Marks;
  readonly #followed = new Map<string, Followed>();
  /** By name of the root: directories below it, and the events that they share. */
  readonly #tops = new Map<string, Top>();
  /** Directories of the start whose watches neither stand nor have failed: only then it is known whether it works. */
  readonly #awaited = new Set<string>();
  #isOn = false;
  /** A directory could not be watched since it was set up: no other is tried before it is set up anew. */
  #isFailing = false;
  #isClosed = false;

  constructor(
    ways: Ways,
    root: string,
    events: WatchEvents,
    { clock = systemClock, marks = directoryMarks() }: { readonly clock?: Clock; readonly marks?: Marks } = {},
  ) {
    this.#ways = ways;
    this.#root = root;
    this.#events = events;
    this.#clock = clock;
    this.#marks = marks;
  }

  /** Makes the directory if it is missing and starts watching, a moment later. Never throws: `degraded` tells how it went. */
  start(): void {
    this.#isOn = true;
    this.#isFailing = false;
    try {
      makeDirectory(this.#root);
      this.#watch(this.#root, identityOf(this.#root));
    } catch (failure) {
      this.#failed(this.#root, asError(failure));
    }
    // In one go, so that it is told once whether all are watched; where somebody filled a directory, the rest is followed when everything is
    // looked at, which takes its time.
    let left = NAMES_AT_START;
    const names = listFiles(this.#ways, this.#root, (directory) => void this.follow(directory));
    while (this.#isWell() && left > 0 && names.next().done !== true) left -= 1;
    names.return(undefined);
    for (const directory of this.#followed.keys()) this.#awaited.add(directory);
    this.#events.rescan();
  }

  /** Sets the watch up anew, making the directory again if somebody removed it. */
  restart(): void {
    this.#leaveAll();
    if (!this.#isClosed) this.start();
  }

  /** Stops watching. Idempotent. */
  close(): void {
    this.#isClosed = true;
    this.#leaveAll();
  }

  /**
   * Follows a directory, if it is one that is to be followed.
   *
   * @param directory a path that is no socket
   * @returns its possible sockets and directories, where changes of them were not reported before
   */
  follow(directory: string): BelowDirectory {
    if (!this.#isOn) return NOTHING;
    if (directory === this.#root) {
      if (!this.#isFailing && this.#isOtherRoot()) this.restart();
      return NOTHING;
    }
    const identity = this.#identityOf(directory);
    if (identity === 'unknown') return NOTHING;
    const before = this.#followed.get(directory);
    if (before !== undefined && !before.isLost && before.identity === identity) {
      if (!before.isStale) return NOTHING;
      before.isStale = false;
      return { isOther: false, entries: entriesIn(this.#ways, directory) };
    }
    if (before !== undefined) this.#leave(directory);
    if (identity !== undefined && this.#mayFollow(directory)) this.#watch(directory, identity);
    const isOther = before !== undefined;
    return this.#followed.has(directory) ? { isOther, entries: entriesIn(this.#ways, directory) } : { isOther };
  }

  /**
   * Tells directories of one path apart; undefined where there is none to which no link leads, `unknown` where there was no
   * descriptor to look with.
   */
  #identityOf(directory: string): string | undefined {
    try {
      return this.#ways.inDirectory(directory, (at) => identityOf(at));
    } catch (failure) {
      // Without descriptors to look with, or an answer, nothing has changed.
      const { code = '' } = failure as NodeJS.ErrnoException;
      return isOwnShortage(code) || code === UNANSWERED ? 'unknown' : undefined;
    }
  }

  #isOtherRoot(): boolean {
    const known = this.#followed.get(this.#root)?.identity;
    return identityOf(this.#root, known) !== known;
  }

  /** Somebody may make directories without an end: beyond a number of them only the rescan looks. */
  #mayFollow(directory: string): boolean {
    const parts = path.relative(this.#root, directory).split('/');
    if (this.#isFailing || parts.length > MAX_DEPTH || parts.some((part) => part.startsWith('.'))) return false;
    const top = parts[0] ?? '';
    const shared = this.#tops.get(top);
    if (shared !== undefined && (shared.count >= MOST_BELOW_ONE || this.#isResting(shared))) return false;
    const isTrusted = shared?.isTrusted ?? isOfTrusted(this.#ways, path.join(this.#root, top));
    let count = 0;
    for (const one of this.#tops.values()) if (one.isTrusted === isTrusted) count += one.count;
    return count < MOST_DIRECTORIES;
  }

  #isResting(top: Top): boolean {
    const leftMs = top.restsUntil - this.#clock.mono();
    if (leftMs <= 0) return false;
    top.owed ??= this.#clock.alarm(leftMs, () => {
      top.owed = undefined;
      this.#events.lost();
    });
    return true;
  }

  #watch(directory: string, identity: string): void {
    const top = path.relative(this.#root, directory).split('/', 1)[0] ?? '';
    const shared: Top = this.#tops.get(top) ?? {
      restsUntil: -Infinity,
      count: 0,
      isTrusted: isOfTrusted(this.#ways, path.join(this.#root, top)),
      budget: eventBudget(),
    };
    const watch = new PacedWatch((work) => this.#ways.inDirectory(directory, work), {
      clock: this.#clock,
      budget: shared.budget,
      marks: this.#marks,
      took: (ms) => {
        if (!shared.isTrusted) shared.restsUntil = Math.max(shared.restsUntil, this.#clock.mono() + restAfterMs(ms));
      },
      changed: (name) => this.#changed(directory, name),
      watched: () => this.#watched(directory),
      rested: this.#events.lost,
      failed: (failure) => this.#unwatched(directory, failure),
    });
    shared.count += 1;
    this.#tops.set(top, shared);
    this.#followed.set(directory, { identity, watch, top, isStale: false, wasWatched: false, isLost: false });
  }

  #changed(directory: string, name: string): void {
    if (name !== '.') this.#events.hint(`${directory}/${name}`);
    else if (directory !== this.#root) this.#events.hint(directory);
    else if (this.#isOtherRoot()) this.restart();
  }

  #watched(directory: string): void {
    const followed = this.#followed.get(directory);
    if (followed !== undefined) [followed.isStale, followed.wasWatched] = [true, true];
    this.#settled(directory);
    if (directory === this.#root) this.#events.rescan();
    else this.#events.hint(directory);
  }

  #unwatched(directory: string, failure: NodeJS.ErrnoException): void {
    if (directory === this.#root || !NOT_THERE.has(failure.code)) this.#failed(directory, failure);
    const followed = this.#followed.get(directory);
    // One that is there and could not be watched at all would be tried again at once, without an end.
    if (followed === undefined || !(followed.wasWatched || GONE.has(failure.code))) {
      this.#leave(directory);
      return;
    }
    followed.isLost = true;
    this.#settled(directory);
    this.#events.hint(directory);
  }

  #settled(directory: string): void {
    if (this.#awaited.delete(directory) && this.#awaited.size === 0 && this.#isWell()) this.#events.degraded(undefined);
  }

  #leave(directory: string): void {
    const followed = this.#followed.get(directory);
    if (followed === undefined) return;
    this.#settled(directory);
    followed.watch.close();
    this.#followed.delete(directory);
    const shared = this.#tops.get(followed.top);
    if (shared === undefined) return;
    shared.count -= 1;
    if (shared.count > 0) return;
    shared.owed?.cancel();
    this.#tops.delete(followed.top);
  }

  #leaveAll(): void {
    this.#isOn = false;
    this.#awaited.clear();
    for (const directory of [...this.#followed.keys()]) this.#leave(directory);
  }

  #isWell(): boolean {
    return !this.#isFailing;
  }

  #failed(directory: string, failure: Error): void {
    if (this.#isFailing || !this.#isOn) return;
    this.#isFailing = true;
    this.#events.degraded(whyUnwatched(directory, failure));
  }
}
