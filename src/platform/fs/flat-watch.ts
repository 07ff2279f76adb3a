// Tells that something changed in one directory, without saying what: for the directory in which device plugins keep
// their sockets, of which two names matter. chokidar would read the whole directory and look at every entry after each
// change, which is a hundred sockets a hundred times when a node's plugins restart together.
import { mkdirSync } from 'node:fs';
import { asError } from '../../kernel/clock.js';
import { systemClock } from '../time/system-clock.js';
import { EventBudget, PacedWatch } from './paced-watch.js';
import { identityOf, whyUnwatched } from './watched-root.js';

/** What a flat watch tells. */
export interface FlatWatchEvents {
  /** Something changed, or may have changed unseen. */
  readonly changed: () => void;
  /** The watch does not work (undefined: it works again). */
  readonly degraded: (why: string | undefined) => void;
}

/** Watches one directory, without what is below it. */
export class FlatWatch {
  readonly #root: string;
  readonly #events: FlatWatchEvents;
  readonly #budget = new EventBudget(systemClock);
  #watcher: PacedWatch | undefined;
  #identity = '';
  #isClosed = false;

  constructor(root: string, events: FlatWatchEvents) {
    this.#root = root;
    this.#events = events;
  }

  /** Makes the directory if it is missing and starts watching. Never throws: what fails is told as degraded. */
  start(): void {
    try {
      mkdirSync(this.#root, { recursive: true, mode: 0o750 });
      this.#identity = identityOf(this.#root);
      this.#watcher = new PacedWatch((work) => work(`${this.#root}/.`), {
        clock: systemClock,
        budget: this.#budget,
        changed: () => this.#changed(),
        resumed: () => this.#changed(),
        failed: (failure) => this.#failed(failure),
      });
    } catch (failure) {
      this.#failed(asError(failure));
      return;
    }
    this.#events.degraded(undefined);
    this.#events.changed();
  }

  /** Sets the watch up anew, making the directory again if somebody removed it. */
  restart(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
    if (!this.#isClosed) this.start();
  }

  /** Stops watching. Idempotent. */
  close(): void {
    this.#isClosed = true;
    this.#watcher?.close();
    this.#watcher = undefined;
  }

  #changed(): void {
    if (this.#isClosed) return;
    if (identityOf(this.#root) === this.#identity) this.#events.changed();
    else this.restart();
  }

  #failed(failure: Error): void {
    if (this.#isClosed) return;
    this.#watcher?.close();
    this.#watcher = undefined;
    this.#events.degraded(whyUnwatched(this.#root, failure));
    this.#events.changed();
  }
}
