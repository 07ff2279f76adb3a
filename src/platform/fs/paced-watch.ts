// The watch of one directory at a bounded cost. A user that makes and removes files without end raises events faster than a
// program takes them, and the runtime reads until there are none, while nothing else has a turn. A directory that is too busy
// is dropped for a moment and looked at afterwards.
import { constants, watch, type FSWatcher } from 'node:fs';
import { asError, type Alarm, type Clock } from '../../kernel/clock.js';
import { ifPossible } from '../../kernel/if-possible.js';
import { Turns } from '../../kernel/pace.js';
import type { Marks } from '../peer/directory-marks.js';
import { O_PATH, openSync } from './name-calls.js';
import { identityOf } from './watched-root.js';

/** Events taken: as many at once as a thousand plugins raise that start together, and one a millisecond in the long run. */
const EVENTS = { burst: 2048, intervalMs: 1 };
/** A directory that is too busy is let go for so long; twice as long each time it is so again soon, up to MOST_PAUSE_MS. */
const PAUSE_MS = 250;
const MOST_PAUSE_MS = 2000;
/** Again within this is soon. */
const SOON_MS = 1000;

/**
 * The first watch of a directory goes over all names in it that the system remembers, millions where its user asked for them, and who looks
 * at the directory meanwhile waits for that, in the system. One that took longer than a moment is followed by a rest a hundred times as long.
 */
const [SLOW_MS, REST_PARTS, MOST_REST_MS] = [10, 100, 60_000];

/** For so long nothing of the kind is watched anew after a watch that took so long, both in milliseconds. */
export function restAfterMs(tookMs: number): number {
  return tookMs < SLOW_MS ? 0 : Math.min(tookMs * REST_PARTS, MOST_REST_MS);
}

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
  /** Mark the directory while its watch is set: `directoryMarks` (platform/peer/directory-marks). */
  readonly marks: Marks;
  /** So many milliseconds the system took to mark it and to set the watch, which may be over by then. */
  readonly took?: (ms: number) => void;
  /** It is watched from now on, or again after it was too busy: everything in it may have changed until now. */
  readonly watched: () => void;
  /** It is too busy: the system's queue of events, which is one for all directories, may be full, so that others' were lost. */
  readonly rested: () => void;
  /** It cannot be watched, or is not any more: ENOENT, EACCES, ENOSPC, EMFILE, `UNANSWERED`. */
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
  /** The directory that it is set on: its user can put another one in the place meanwhile. */
  #identity = '';
  /** So long the system took to set it last. */
  #tookMs = 0;
  #pause: Alarm | undefined;
  #pauseMs = PAUSE_MS;
  #resumedAt = -Infinity;
  /** Lets go the mark that stands in for the watch while that is let go. */
  #unmark: (() => void) | undefined;
  /** Counts ends: a watch whose turn comes after one is not set. */
  #ends = 0;

  /** Watches, a moment later: `watched` or `failed` tells, never before this returns. */
  constructor(inDirectory: InDirectory, ports: PacedWatchPorts) {
    this.#inDirectory = inDirectory;
    this.#ports = ports;
    this.#open();
  }

  /** Stops. Idempotent. */
  close(): void {
    this.#ends += 1;
    this.#pause?.cancel();
    this.#pause = undefined;
    this.#watcher?.close();
    this.#watcher = undefined;
    this.#unmark?.();
    this.#unmark = undefined;
  }

  #open(): void {
    const ends = this.#ends;
    const isOver = (): boolean => ends !== this.#ends;
    const open = (): number | undefined =>
      isOver() ? undefined : this.#inDirectory((at) => openSync(at, O_PATH | constants.O_DIRECTORY));
    this.#ports.marks
      .during(open, (at) => {
        if (!isOver()) this.#watch(at);
      })
      .then(
        (tookMs) => {
          this.#tookMs = tookMs;
          this.#ports.took?.(tookMs);
          if (!isOver()) this.#stands();
        },
        (failure: unknown) => {
          if (!isOver()) this.#failed(asError(failure));
        },
      );
  }

  #stands(): void {
    this.#unmark?.();
    this.#unmark = undefined;
    this.#ports.watched();
  }

  /** @throws NodeJS.ErrnoException */
  #watch(at: string): void {
    const { budget, clock, changed } = this.#ports;
    this.#identity = identityOf(at);
    const watcher = watch(at, { persistent: false });
    this.#watcher = watcher;
    watcher.on('change', (_type, name) => {
      if (watcher !== this.#watcher) return;
      if (budget.take(clock.mono())) changed(String(name));
      else this.#rest();
    });
    watcher.on('error', (failure) => {
      if (watcher === this.#watcher) this.#failed(failure);
    });
  }

  #rest(): void {
    const { clock, marks } = this.#ports;
    // As long as something watches the directory, the next watch of it takes no time. Another one that has its place by now is watched by
    // nothing, and may have millions of names for the system to go through.
    const there = { isAnother: false };
    const unmark = ifPossible(() =>
      this.#inDirectory((at) => {
        there.isAnother = identityOf(at, this.#identity) !== this.#identity;
        return there.isAnother ? undefined : marks.hold(at);
      }),
    );
    this.close();
    this.#unmark = unmark;
    const isAgain = clock.mono() - this.#resumedAt < SOON_MS;
    this.#pauseMs = isAgain ? Math.min(MOST_PAUSE_MS, 2 * this.#pauseMs) : PAUSE_MS;
    const unmarkedMs = there.isAnother ? restAfterMs(this.#tookMs) : 0;
    this.#pause = clock.alarm(Math.max(this.#pauseMs, unmarkedMs), () => {
      this.#pause = undefined;
      this.#resumedAt = clock.mono();
      this.#open();
    });
    this.#ports.rested();
  }

  #failed(failure: Error): void {
    this.close();
    this.#ports.failed(failure);
  }
}
