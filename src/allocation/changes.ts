// Looks at waiting requests when plugins changed their offers, once for all changes of one turn, and in a share of the time:
// plugins change their lists as often as they like, and a look goes through all waiting requests and all leases.
import type { Alarm, Clock } from '../kernel/clock.js';
import { restMs } from '../kernel/pace.js';
import type { Holding, ListListener } from '../model/device-list.js';
import { DEVICE_PLUGIN } from '../model/ids.js';
import type { Change, RosterListener } from '../model/instance.js';
import type { ConsumerListener } from './consumers.js';

/** After a look nobody is looked at for so many times as long as it took: a fifth of the time, up to the longest rest. */
const REST = 4;

/** Hears of plugins, lists and consumers. */
export class Changes implements RosterListener, ListListener, ConsumerListener {
  readonly #clock: Clock;
  readonly #nextTurn: () => Promise<void>;
  readonly #look: (resources: ReadonlySet<string> | undefined) => void;
  /** Resources that changed in this turn; undefined: any may have. */
  #resources: Set<string> | undefined = new Set();
  #isLooking = false;
  /** No look before, on the monotonic scale. */
  #restsUntil = -Infinity;
  #rest: Alarm | undefined;
  #isOver = false;

  /**
   * @param clock measures the time of a look
   * @param nextTurn resolves after the event loop has looked at its sockets once: `nextTurn` (platform/time/next-turn)
   * @param look called once after each turn in which something changed, with the resources that did; undefined: any may have.
   * `Allocations.changed` (allocation/allocations)
   */
  constructor(clock: Clock, nextTurn: () => Promise<void>, look: (resources: ReadonlySet<string> | undefined) => void) {
    this.#clock = clock;
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

  /** The rules changed, which may give somebody more than before. */
  readonly reloaded = (): void => this.#note(undefined);

  /** Devices of a resource may be given now that could not be before, or the other way round: any request may wait for them. */
  consumerMoved(): void {
    this.#note(undefined);
  }

  #note(resource: string | undefined): void {
    if (resource === undefined) this.#resources = undefined;
    else this.#resources?.add(resource);
    if (this.#isLooking || this.#isOver) return;
    this.#isLooking = true;
    const leftMs = this.#restsUntil - this.#clock.mono();
    if (leftMs > 0) this.#rest = this.#clock.alarm(Math.ceil(leftMs), () => this.#lookNow());
    else void this.#nextTurn().then(() => this.#lookNow());
  }

  #lookNow(): void {
    this.#isLooking = false;
    const resources = this.#resources;
    this.#resources = new Set();
    if (this.#isOver) return;
    const startedAt = this.#clock.mono();
    this.#look(resources);
    const now = this.#clock.mono();
    this.#restsUntil = now + restMs(now - startedAt, REST);
  }

  /** Nobody is looked at any more. */
  stop(): void {
    this.#isOver = true;
    this.#rest?.cancel();
  }
}
