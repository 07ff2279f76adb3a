// A reader of events as they happen. Slow readers are ended, never waited for.
import type { BrokerEvent } from '../model/event.js';

/** Events that a reader may be behind. */
const MAX_BEHIND = 1000;

/** A queue of events for one reader. */
export class Follower {
  readonly #events: BrokerEvent[] = [];
  #wake: (() => void) | undefined;
  #end: { readonly failure: Error | undefined } | undefined;

  /** Gives the reader an event. */
  push(event: BrokerEvent): void {
    if (this.#end !== undefined) return;
    if (this.#events.length === MAX_BEHIND) {
      this.#events.length = 0;
      this.end(new Error(`the reader of events is too slow: it missed those from number ${event.seq} on`));
      return;
    }
    this.#events.push(event);
    this.#wake?.();
  }

  /** Ends the reading after the events already given, with an error if there is one. */
  end(failure?: Error): void {
    this.#end ??= { failure };
    this.#wake?.();
  }

  /** The next event, or undefined at the end. One call at a time. */
  async next(): Promise<BrokerEvent | undefined> {
    for (;;) {
      const event = this.#events.shift();
      if (event !== undefined) return event;
      if (this.#end?.failure !== undefined) throw this.#end.failure;
      if (this.#end !== undefined) return undefined;
      await new Promise<void>((wake) => (this.#wake = wake));
      this.#wake = undefined;
    }
  }
}
