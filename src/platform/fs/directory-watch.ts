// Tells that something changed below a directory. chokidar raises hints; what is true is found by looking (
// it folds a replacement into `change`, loses a removed root, and can run out of inotify watches).
import { mkdirSync, readdirSync, type Stats } from 'node:fs';
import path from 'node:path';
import { watch, type FSWatcher } from 'chokidar';
import { asError, type Alarm } from '../../kernel/clock.js';
import { systemClock } from '../time/system-clock.js';
import { identityOf, whyUnwatched } from './watched-root.js';

/** What a watch tells. */
export interface WatchEvents {
  /** Look at this path: it may have changed. */
  readonly hint: (path: string) => void;
  /** Look at everything: the watch was set up anew, or lost events. */
  readonly rescan: () => void;
  /** The watch does not work (undefined: it works again). Until then only the rescan finds changes. */
  readonly degraded: (why: string | undefined) => void;
}

/** Directories that are followed at most, and read at each look. */
const MOST_DIRECTORIES = 1024;
/** Depth of directories below the root that are followed. */
const MAX_DEPTH = 16;
/** A new directory is read once more after this: chokidar tells of it before it watches it. */
const READ_AGAIN_MS = 100;
/** Files looked at in a new directory; further ones are found by the rescan, so that crowded ones cost no more. */
const MOST_LOOKED_AT = 256;

/** Whether a path below the root has a part that begins with a dot: such names are ignored (kubelet rule). */
export function isHidden(root: string, file: string): boolean {
  const relative = path.relative(root, file);
  return relative.split('/').some((part) => part.startsWith('.') && part !== '..');
}

/** Watches one directory tree. */
export class DirectoryWatch {
  readonly #root: string;
  readonly #events: WatchEvents;
  #watcher: FSWatcher | undefined;
  /** Which directory is watched: one that was removed and made again is another, of which the watch says nothing. */
  #identity = '';
  /** Directories that are watched. */
  readonly #directories = new Set<string>();
  /** Directories that are new, to be read once more. */
  readonly #fresh = new Set<string>();
  #readingAgain: Alarm | undefined;
  #closed = false;
  #restarting: Promise<void> | undefined;
  /** Something failed since it was set up. */
  #isFailing = false;

  constructor(root: string, events: WatchEvents) {
    this.#root = root;
    this.#events = events;
  }

  /** Makes the directory if it is missing and starts watching. Resolves when the first look is complete. */
  start(): Promise<void> {
    this.#isFailing = false;
    mkdirSync(this.#root, { recursive: true, mode: 0o750 });
    this.#identity = identityOf(this.#root);
    this.#directories.clear();
    return new Promise((resolve) => {
      const watcher = watch(this.#root, {
        atomic: false,
        alwaysStat: false,
        awaitWriteFinish: false,
        depth: MAX_DEPTH,
        followSymlinks: false,
        ignoreInitial: true,
        ignorePermissionErrors: true,
        // Each file would cost a watch of its own; what its directory tells is enough (`raw` below).
        ignored: (file, stats) =>
          stats?.isDirectory() === false || isHidden(this.#root, file) || this.#isTooMany(file, stats),
      });
      this.#watcher = watcher;
      const hint = (file: string): void => this.#events.hint(file);
      watcher.on('add', hint).on('change', hint).on('unlink', hint);
      watcher.on('addDir', (directory: string) => this.#isNew(directory));
      // What the system said before chokidar compared names: a socket replaced under its name may raise nothing else.
      watcher.on('raw', (_event, name: unknown, details: unknown) => {
        if (identityOf(this.#root) !== this.#identity) void this.restart();
        const { watchedPath } = details as { watchedPath?: unknown };
        if (typeof name !== 'string' || name === '' || typeof watchedPath !== 'string') return;
        hint(path.basename(watchedPath) === name ? watchedPath : path.join(watchedPath, name));
      });
      watcher.on('unlinkDir', (file: string) => {
        this.#directories.delete(file);
        this.#fresh.delete(file);
        if (file === this.#root) void this.restart();
        else hint(file);
      });
      watcher.on('error', (failure) => this.#failed(asError(failure)));
      watcher.once('ready', () => {
        resolve();
        if (!this.#closed && watcher === this.#watcher) this.#events.rescan();
      });
    });
  }

  /** What is in a directory when it appears, or came before it was watched, raises nothing else: files are not followed. */
  #isNew(directory: string): void {
    if (this.#closed) return;
    this.#hintAll(directory);
    this.#fresh.add(directory);
    this.#readingAgain ??= systemClock.alarm(READ_AGAIN_MS, () => {
      this.#readingAgain = undefined;
      for (const fresh of this.#fresh) this.#hintAll(fresh);
      this.#fresh.clear();
    });
  }

  #hintAll(directory: string): void {
    this.#events.hint(directory);
    for (const file of listFiles(directory, 0).slice(0, MOST_LOOKED_AT)) this.#events.hint(file);
  }

  /** Somebody may make directories without an end: beyond a number of them only the rescan looks. */
  #isTooMany(file: string, stats: Stats | undefined): boolean {
    if (stats === undefined || this.#directories.has(file)) return false;
    if (this.#directories.size >= MOST_DIRECTORIES) return true;
    this.#directories.add(file);
    return false;
  }

  /** Sets the watch up anew, making the directory again if somebody removed it. */
  restart(): Promise<void> {
    this.#restarting ??= this.#restart().finally(() => (this.#restarting = undefined));
    return this.#restarting;
  }

  async #restart(): Promise<void> {
    await this.#watcher?.close();
    if (this.#closed) return;
    try {
      await this.start();
      if (!this.#isFailing) this.#events.degraded(undefined);
    } catch (failure) {
      this.#failed(asError(failure));
    }
  }

  /** Stops watching. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#readingAgain?.cancel();
    await this.#watcher?.close();
  }

  #failed(failure: Error): void {
    if (this.#closed) return;
    this.#isFailing = true;
    this.#events.degraded(whyUnwatched(this.#root, failure));
    this.#events.rescan();
  }
}

/**
 * What may be a socket below a directory, links included and hidden names left out. Directories too deep, too many or
 * unreadable are skipped.
 *
 * @param maxDepth of directories below it; 0: it alone
 */
export function listFiles(root: string, maxDepth = MAX_DEPTH): string[] {
  const files: string[] = [];
  let directories = 0;
  const walk = (directory: string, depth: number): void => {
    directories += 1;
    if (directories > MOST_DIRECTORIES) return;
    let entries;
    try {
      entries = readdirSync(directory, { withFileTypes: true });
    } catch {
      return; // removed or unreadable: nothing to find there now
    }
    for (const entry of entries) {
      if (entry.name.startsWith('.')) continue;
      const file = path.join(directory, entry.name);
      if (entry.isDirectory()) {
        if (depth < maxDepth) walk(file, depth + 1);
      } else if (!entry.isFile()) files.push(file);
    }
  };
  walk(root, 0);
  return files;
}
