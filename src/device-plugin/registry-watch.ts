// Watches for the signs that a plugin's registry was restarted. Plugins in the field differ in which of these they notice.
import { watch, type FSWatcher } from 'node:fs';
import path from 'node:path';
import { identityOf } from './plugin-server.js';

/**
 * The signs on which a plugin registers again: kubelet.sock was created, or removed; its own socket is not where it was bound, by
 * events or by polling; or none.
 */
export const WATCH_STYLES = ['create', 'remove', 'own-socket', 'poll', 'never'] as const;
/** One of WATCH_STYLES. */
export type WatchStyle = (typeof WATCH_STYLES)[number];

/** Something a plugin noticed. */
export type RegistryEvent = 'kubelet-socket-created' | 'kubelet-socket-removed' | 'own-socket-lost';

/** How soon a directory that went away is looked for again. */
const DIRECTORY_AGAIN_MS = 200;

/** The watched paths. */
export interface Watched {
  readonly kubeletSocket: string;
  readonly ownDirectory: string;
  /** Whether the plugin serves, and its socket is not where it was bound. */
  isOwnLost(): boolean;
}

/** Watches as the style says and calls `onRegistryEvent`; an event may come more than once. */
export class RegistryWatch {
  readonly #watched: Watched;
  readonly #styles: ReadonlySet<WatchStyle>;
  readonly #onRegistryEvent: (event: RegistryEvent) => void;
  readonly #directories = new Map<string, { readonly watcher: FSWatcher; readonly identity: string }>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #kubelet: string | undefined;
  #isStopped = false;

  /** @param options.pollEvery milliseconds between two looks of the style `poll` */
  constructor(
    watched: Watched,
    options: { readonly watch: readonly WatchStyle[]; readonly pollEvery: number },
    onRegistryEvent: (event: RegistryEvent) => void,
  ) {
    this.#watched = watched;
    this.#styles = new Set(options.watch);
    this.#onRegistryEvent = onRegistryEvent;
    this.#kubelet = identityOf(watched.kubeletSocket);
    if (this.#styles.has('poll')) this.#timers.add(setInterval(() => this.#poll(), options.pollEvery));
    if (this.#styles.has('own-socket')) this.#arm(watched.ownDirectory);
    if (this.#styles.has('create') || this.#styles.has('remove')) this.#arm(path.dirname(watched.kubeletSocket));
  }

  /** Watches no more. */
  stop(): void {
    this.#isStopped = true;
    for (const timer of this.#timers) clearTimeout(timer);
    for (const { watcher } of this.#directories.values()) watcher.close();
    this.#directories.clear();
  }

  #arm(directory: string): void {
    if (this.#isStopped || this.#directories.has(directory)) return;
    const identity = identityOf(directory);
    try {
      if (identity === undefined) throw new Error('no such directory');
      const watcher = watch(directory, { persistent: false }, () => this.#look());
      watcher.on('error', () => this.#disarm(directory));
      this.#directories.set(directory, { watcher, identity });
    } catch {
      const timer = setTimeout(() => {
        this.#timers.delete(timer);
        this.#arm(directory);
      }, DIRECTORY_AGAIN_MS);
      this.#timers.add(timer);
      return;
    }
    this.#look();
  }

  #disarm(directory: string): void {
    this.#directories.get(directory)?.watcher.close();
    this.#directories.delete(directory);
    this.#arm(directory);
  }

  #look(): void {
    const before = this.#kubelet;
    const now = (this.#kubelet = identityOf(this.#watched.kubeletSocket));
    if (this.#styles.has('create') && now !== undefined && now !== before)
      this.#onRegistryEvent('kubelet-socket-created');
    if (this.#styles.has('remove') && before !== undefined && now !== before)
      this.#onRegistryEvent('kubelet-socket-removed');
    if (this.#styles.has('own-socket')) this.#lookForOwn();
    for (const [directory, { identity }] of this.#directories) {
      if (identityOf(directory) !== identity) this.#disarm(directory);
    }
  }

  /** An event may be lost, and the directory may have been replaced. */
  #poll(): void {
    this.#look();
    if (!this.#styles.has('own-socket')) this.#lookForOwn();
  }

  #lookForOwn(): void {
    if (this.#watched.isOwnLost()) this.#onRegistryEvent('own-socket-lost');
  }
}
