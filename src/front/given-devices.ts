// Devices that pods were given through us and whose owners the kubelet has not named yet: it is asked now and then, and until
// then no other record of them exists.
import type { Clock } from '../kernel/clock.js';

/** Later answers of the kubelet for which a device counts as given without an owner; after them only a named owner counts. */
const ANSWERS = 2;
/** How long a device is held, in milliseconds, when the kubelet has never named owners: it may have no such service. */
const UNHEARD_MS = 60_000;

/** One of them. */
interface Given {
  /** The number of the answer from which on it counts no more. */
  readonly until: number;
  /** Monotonic milliseconds. */
  readonly at: number;
}

/** Remembers them. In memory only: after a restart the kubelet is asked at once. */
export class GivenDevices {
  readonly #clock: Pick<Clock, 'mono'>;
  readonly #byResource = new Map<string, Map<string, Given>>();
  /** Answers so far. */
  #answers = 0;

  constructor(clock: Pick<Clock, 'mono'>) {
    this.#clock = clock;
  }

  /** Ids of a resource. */
  of(resource: string): Iterable<string> {
    return this.#byResource.get(resource)?.keys() ?? [];
  }

  /**
   * These are being given.
   *
   * @param isAsking the kubelet is being asked now: that answer may be older than they
   */
  add(resource: string, ids: readonly string[], isAsking: boolean): void {
    const known = this.#byResource.get(resource) ?? new Map<string, Given>();
    this.#byResource.set(resource, known);
    const given = { until: this.#answers + ANSWERS + (isAsking ? 1 : 0), at: this.#clock.mono() };
    for (const id of ids) known.set(id, given);
    if (known.size === 0) this.#byResource.delete(resource);
  }

  /** The kubelet was asked for the owners, and did answer or not. @returns resources of which some do not count any more */
  asked(isAnswered: boolean): string[] {
    if (isAnswered) this.#answers += 1;
    const since = this.#clock.mono() - UNHEARD_MS;
    const lapsed = new Set<string>();
    for (const [resource, known] of this.#byResource) {
      for (const [id, { until, at }] of known) {
        if (this.#answers === 0 ? at > since : this.#answers < until) continue;
        known.delete(id);
        lapsed.add(resource);
      }
      if (known.size === 0) this.#byResource.delete(resource);
    }
    return [...lapsed];
  }
}
