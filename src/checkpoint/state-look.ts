// Looks now and then whether state/ is as we left it: somebody may remove it while nothing has to be written.
import type { Log } from '../kernel/log.js';
import { asError } from '../kernel/clock.js';
import type { EventSink } from '../model/event.js';

/** What is looked at. */
export interface StateLookParts {
  /** Writes again what is missing of the checkpoint, and tells whether anything was. */
  readonly store: { look(): Promise<boolean> };
  readonly log: Log;
  readonly events: EventSink;
}

/** One look at a time; with a disk that hangs there is no further one. */
export class StateLook {
  readonly #parts: StateLookParts;
  /** The lock of `state/`, while we hold it. */
  lock: { look(): Promise<boolean> } | undefined;
  #looking: Promise<void> | undefined;

  constructor(parts: StateLookParts) {
    this.#parts = parts;
  }

  /** Looks, unless a look goes on. Never rejects. */
  readonly look = (): void => {
    this.#looking ??= this.#once().finally(() => (this.#looking = undefined));
  };

  async #once(): Promise<void> {
    const { store, log } = this.#parts;
    try {
      if (await store.look()) this.#say('files of the checkpoint were removed; they are written again');
      if ((await this.lock?.look()) === true) this.#say('the lock of state/ was removed; it is taken again');
    } catch (failure) {
      // What does not work is told by the next write.
      log.debug('checkpoint.look', `state/ could not be looked at: ${asError(failure).message}`);
    }
  }

  #say(message: string): void {
    this.#parts.log.warn('checkpoint.removed', message);
    this.#parts.events.record({ type: 'checkpoint', message });
  }
}
