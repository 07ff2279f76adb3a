// Tells that something changed in one directory, and which names when asked: for the directory in which device plugins keep
// their sockets, of which two names matter. chokidar would read the whole directory and look at every entry after each
// change, which is a hundred sockets a hundred times when a node's plugins restart together.
import { asError } from '../../kernel/clock.js';
import { directoryMarks } from '../peer/directory-marks.js';
import { systemClock } from '../time/system-clock.js';
import { makeDirectory } from './directories.js';
import { eventBudget, PacedWatch } from './paced-watch.js';
import { identityOf, whyUnwatched } from './watched-root.js';

/** The listener of a flat watch: SocketListeners (platform/listeners/socket-listeners). */
export interface FlatWatchEvents {
  /** Something changed, or may have changed unseen: `FlatWatch.changes` has the names. */
  readonly changed: () => void;
  /** Events may have been lost, of other directories, too. */
  readonly lost: () => void;
  /** The watch does not work (undefined: it works again). */
  readonly degraded: (why: string | undefined) => void;
}

/** Names that are remembered; after more any may have changed. */
const MOST_NAMES = 2048;

/** Watches one directory, without the directories below it. */
export class FlatWatch {
  readonly #root: string;
  readonly #events: FlatWatchEvents;
  readonly #budget = eventBudget();
  #watcher: PacedWatch | undefined;
  #identity = '';
  /** It was told since the start that the watch works. */
  #isTold = false;
  /** The changes since the last call; undefined: anything may have changed. */
  #names: Set<string> | undefined;
  #isClosed = false;

  constructor(root: string, events: FlatWatchEvents) {
    this.#root = root;
    this.#events = events;
  }

  /** Makes the directory if it is missing and starts watching, a moment later. Never throws: `degraded` tells how it went. */
  start(): void {
    this.#isTold = false;
    try {
      makeDirectory(this.#root);
      this.#identity = identityOf(this.#root);
      this.#watcher = new PacedWatch((work) => work(`${this.#root}/.`), {
        clock: systemClock,
        budget: this.#budget,
        marks: directoryMarks(),
        changed: (name) => this.#changed(name === '.' ? undefined : name),
        watched: () => this.#watched(),
        rested: this.#events.lost,
        failed: (failure) => this.#failed(failure),
      });
    } catch (failure) {
      this.#failed(asError(failure));
      return;
    }
    this.#tell(undefined);
  }

  /** Sets the watch up anew, making the directory again if somebody removed it. */
  restart(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
    if (!this.#isClosed) this.start();
  }

  /** Names in the directory that changed since the last call; undefined: any may have, and files below them. */
  changes(): ReadonlySet<string> | undefined {
    const names = this.#names;
    this.#names = new Set();
    return names;
  }

  /** Stops watching. Idempotent. */
  close(): void {
    this.#isClosed = true;
    this.#watcher?.close();
    this.#watcher = undefined;
  }

  #watched(): void {
    if (!this.#isTold) this.#events.degraded(undefined);
    this.#isTold = true;
    this.#changed(undefined);
  }

  #changed(name: string | undefined): void {
    if (this.#isClosed) return;
    if (identityOf(this.#root, this.#identity) === this.#identity) this.#tell(name);
    else this.restart();
  }

  #tell(name: string | undefined): void {
    if (name === undefined || (this.#names?.size ?? 0) >= MOST_NAMES) this.#names = undefined;
    else this.#names?.add(name);
    this.#events.changed();
  }

  #failed(failure: Error): void {
    if (this.#isClosed) return;
    this.#watcher?.close();
    this.#watcher = undefined;
    this.#events.degraded(whyUnwatched(this.#root, failure));
    this.#tell(undefined);
  }
}
