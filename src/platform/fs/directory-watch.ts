// Tells that something changed below a directory. chokidar raises hints; what is true is found by looking (stack notes:
// it folds a replacement into `change`, loses a removed root, and can run out of inotify watches).
import { mkdirSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { watch, type FSWatcher } from 'chokidar';
import { asError } from '../../kernel/clock.js';
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

/** Depth of directories below the root that are followed. */
const MAX_DEPTH = 16;

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
    return new Promise((resolve) => {
      const watcher = watch(this.#root, {
        atomic: false,
        alwaysStat: false,
        awaitWriteFinish: false,
        depth: MAX_DEPTH,
        followSymlinks: false,
        ignoreInitial: true,
        ignorePermissionErrors: true,
        ignored: (file) => isHidden(this.#root, file),
      });
      this.#watcher = watcher;
      const hint = (file: string): void => this.#events.hint(file);
      watcher.on('add', hint).on('change', hint).on('unlink', hint).on('addDir', hint);
      // What the system said before chokidar compared names: a socket replaced under its name may raise nothing else.
      watcher.on('raw', (_event, name: unknown, details: unknown) => {
        if (identityOf(this.#root) !== this.#identity) void this.restart();
        const { watchedPath } = details as { watchedPath?: unknown };
        if (typeof name !== 'string' || name === '' || typeof watchedPath !== 'string') return;
        hint(path.basename(watchedPath) === name ? watchedPath : path.join(watchedPath, name));
      });
      watcher.on('unlinkDir', (file: string) => {
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
    await this.#watcher?.close();
  }

  #failed(failure: Error): void {
    if (this.#closed) return;
    this.#isFailing = true;
    this.#events.degraded(whyUnwatched(this.#root, failure));
    this.#events.rescan();
  }
}

/** Files below a directory, hidden names left out; directories too deep or unreadable are skipped. */
export function listFiles(root: string): string[] {
  const files: string[] = [];
  const walk = (directory: string, depth: number): void => {
    let entries;
    try {
      entries = readdirSync(directory, { withFileTypes: true });
    } catch {
      return; // removed or unreadable: nothing to find there now
    }
    for (const entry of entries) {
      if (entry.name.startsWith('.')) continue;
      const file = path.join(directory, entry.name);
      if (!entry.isDirectory()) files.push(file);
      else if (depth < MAX_DEPTH) walk(file, depth + 1);
    }
  };
  walk(root, 0);
  return files;
}
