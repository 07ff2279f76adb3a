// Looks now and then whether state/ is as we left it: somebody may remove it while nothing has to be written.
import type { Log } from '../kernel/log.js';
import { asError } from '../kernel/clock.js';
import type { EventSink } from '../model/event.js';

/** The subject of the looks. */
export interface StateLookParts {
  /** Writes missing and changed files of the checkpoint again, and reports them: CheckpointStore (checkpoint/store). */
  readonly store: { isKept(withSizes: boolean): Promise<boolean> };
  readonly log: Log;
  readonly events: EventSink;
}

/** One look at a time; with a disk that hangs there is no further one. */
export class StateLook {
  readonly #parts: StateLookParts;
  /** The lock of `state/`, while we hold it: an InstanceLock (platform/store/held-lock). */
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
    const { store, log, events } = this.#parts;
    try {
      await store.isKept(true);
      if ((await this.lock?.look()) !== true) return;
      const message = 'the lock of state/ was removed; it is taken again';
      log.warn('checkpoint.removed', message);
      events.record({ type: 'checkpoint', message });
    } catch (failure) {
      // The next write reports the failure.
      log.debug('checkpoint.look', `state/ could not be looked at: ${asError(failure).message}`);
    }
  }
}
