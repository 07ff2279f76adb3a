// What plugins offer changed: whoever waits is looked at, once for all changes of one turn.
import type { ListListener } from '../model/device-list.js';
import type { RosterListener } from '../model/instance.js';

/** Hears of plugins and lists. */
export class Changes implements RosterListener, ListListener {
  readonly #nextTurn: () => Promise<void>;
  readonly #look: () => void;
  #isLooking = false;
  #isOver = false;

  /**
   * @param nextTurn resolves after the event loop has looked at its sockets once
   * @param look called once after each turn in which something changed
   */
  constructor(nextTurn: () => Promise<void>, look: () => void) {
    this.#nextTurn = nextTurn;
    this.#look = look;
  }

  changed(): void {
    if (this.#isLooking || this.#isOver) return;
    this.#isLooking = true;
    void this.#nextTurn().then(() => {
      this.#isLooking = false;
      if (!this.#isOver) this.#look();
    });
  }

  listApplied(): void {
    this.changed();
  }

  /** Nobody is looked at any more. */
  stop(): void {
    this.#isOver = true;
  }
}
