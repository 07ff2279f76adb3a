// What plugins offer changed: whoever waits is looked at, once for all changes of one turn.
import type { Holding, ListListener } from '../model/device-list.js';
import { DEVICE_PLUGIN } from '../model/ids.js';
import type { Change, RosterListener } from '../model/instance.js';

/** Hears of plugins and lists. */
export class Changes implements RosterListener, ListListener {
  readonly #nextTurn: () => Promise<void>;
  readonly #look: (resources: ReadonlySet<string> | undefined) => void;
  /** Resources that changed in this turn; undefined: any may have. */
  #resources: Set<string> | undefined = new Set();
  #isLooking = false;
  #isOver = false;

  /**
   * @param nextTurn resolves after the event loop has looked at its sockets once
   * @param look called once after each turn in which something changed, with the resources that did; undefined: any may have.
   *   `Allocations.changed` (allocation/allocations)
   */
  constructor(nextTurn: () => Promise<void>, look: (resources: ReadonlySet<string> | undefined) => void) {
    this.#nextTurn = nextTurn;
    this.#look = look;
  }

  changed({ instance }: Change): void {
    const { type, name } = instance;
    if (type === DEVICE_PLUGIN) this.#note(name);
  }

  listApplied({ resource }: Holding): void {
    this.#note(resource);
  }

  /** Anything may have changed. */
  all(): void {
    this.#note(undefined);
  }

  #note(resource: string | undefined): void {
    if (resource === undefined) this.#resources = undefined;
    else this.#resources?.add(resource);
    if (this.#isLooking || this.#isOver) return;
    this.#isLooking = true;
    void this.#nextTurn().then(() => {
      this.#isLooking = false;
      const resources = this.#resources;
      this.#resources = new Set();
      if (!this.#isOver) this.#look(resources);
    });
  }

  /** Nobody is looked at any more. */
  stop(): void {
    this.#isOver = true;
  }
}
