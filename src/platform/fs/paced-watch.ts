// The watch of one directory at a bounded cost. A user that makes and removes files without end raises events faster than a
// program takes them, and the runtime reads until there are none, while nothing else has a turn. A directory that is too busy
// is dropped for a moment and looked at afterwards.
import { watch, type FSWatcher } from 'node:fs';
import { asError, type Alarm, type Clock } from '../../kernel/clock.js';
import { Turns } from '../../kernel/pace.js';

/** Events taken: as many at once as a thousand plugins raise that start together, and one a millisecond in the long run. */
const EVENTS = { burst: 2048, intervalMs: 1 };
/** A directory that is too busy is let go for so long; twice as long each time it is so again soon, up to MOST_PAUSE_MS. */
const PAUSE_MS = 250;
const MOST_PAUSE_MS = 2000;
/** Again within this is soon. */
const SOON_MS = 1000;

/** The events that may be taken, of one directory or of several that share them. */
export function eventBudget(): Turns {
  return new Turns(EVENTS);
}

/**
 * The ports of the watch, and its listener: DirectoryWatch (platform/fs/directory-watch) or FlatWatch
 * (platform/fs/flat-watch).
 */
export interface PacedWatchPorts {
  readonly clock: Clock;
  readonly budget: Turns;
  /** Something changed: the name in the directory; a dot where that itself is concerned. */
  readonly changed: (name: string) => void;
  /** It was too busy and is watched again: everything in it may have changed. */
  readonly resumed: () => void;
  /** It is not watched any more. */
  readonly failed: (failure: Error) => void;
}

/**
 * Works in a directory.
 *
 * @param work is given a path to it, good until it returns, whose last part is a dot
 * @throws NodeJS.ErrnoException where there is none, and the errors of `work`
 */
export type InDirectory = <T>(work: (at: string) => T) => T;

/** Watches one directory, without the directories below it. */
export class PacedWatch {
  readonly #inDirectory: InDirectory;
  readonly #ports: PacedWatchPorts;
  #watcher: FSWatcher | undefined;
  #pause: Alarm | undefined;
  #pauseMs = PAUSE_MS;
  #resumedAt = -Infinity;

  /** Watches. @throws NodeJS.ErrnoException ENOENT, EACCES, ENOSPC, EMFILE */
  constructor(inDirectory: InDirectory, ports: PacedWatchPorts) {
    this.#inDirectory = inDirectory;
    this.#ports = ports;
    this.#open();
  }

  /** Stops. Idempotent. */
  close(): void {
    this.#pause?.cancel();
    this.#pause = undefined;
    this.#watcher?.close();
    this.#watcher = undefined;
  }

  #open(): void {
    const { budget, clock, changed } = this.#ports;
    const watcher = this.#inDirectory((at) => watch(at, { persistent: false }));
    this.#watcher = watcher;
    watcher.on('change', (_type, name) => {
      if (watcher !== this.#watcher) return;
      if (budget.take(clock.mono())) changed(String(name));
      else this.#rest();
    });
    watcher.on('error', (failure) => this.#failed(failure));
  }

  #rest(): void {
    const { clock, resumed } = this.#ports;
    this.close();
    const isAgain = clock.mono() - this.#resumedAt < SOON_MS;
    this.#pauseMs = isAgain ? Math.min(MOST_PAUSE_MS, 2 * this.#pauseMs) : PAUSE_MS;
    this.#pause = clock.alarm(this.#pauseMs, () => {
      this.#pause = undefined;
      this.#resumedAt = clock.mono();
      try {
        this.#open();
      } catch (failure) {
        this.#failed(asError(failure));
        return;
      }
      resumed();
    });
  }

  #failed(failure: Error): void {
    this.close();
    this.#ports.failed(failure);
  }
}
