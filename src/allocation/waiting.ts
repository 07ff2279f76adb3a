// Who waits for devices: strictly first come, first served for each resource. Somebody who wants several resources stands in
// line for each of them, at the same place, so that two of them never wait for each other.
import type { AllocationRefusal } from '../model/allocation-reasons.js';

/** Requests that may wait. */
export const MAX_WAITING = 256;

/** What an attempt came to. `isFinal`: waiting does not help. */
export type Attempt<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly refusal: AllocationRefusal; readonly isFinal: boolean };

/** Somebody in line. */
interface Waiter {
  readonly resources: readonly string[];
  /** Tries at once, in one synchronous step; true when it is settled, either way. */
  attempt(): boolean;
  refuse(refusal: AllocationRefusal): void;
}

/** The line. */
export class Waiting {
  readonly #line = new Set<Waiter>();

  /** How many wait. */
  get size(): number {
    return this.#line.size;
  }

  /** Whether somebody is in line for one of them. */
  isBlocked(resources: readonly string[]): boolean {
    const wanted = new Set(resources);
    for (const waiter of this.#line) if (waiter.resources.some((resource) => wanted.has(resource))) return true;
    return false;
  }

  /**
   * Stands in line until an attempt settles.
   *
   * @param attempt tried when everybody before has been served
   * @returns the result, with the last refusal when `leave` is called
   */
  wait<T>(
    resources: readonly string[],
    attempt: () => Attempt<T>,
    first: AllocationRefusal,
  ): { readonly result: Promise<Attempt<T>>; readonly leave: () => void } {
    let last = first;
    let settle: (result: Attempt<T>) => void = () => undefined;
    const result = new Promise<Attempt<T>>((resolve) => (settle = resolve));
    const waiter: Waiter = {
      resources,
      attempt: () => {
        const tried = attempt();
        if (!tried.ok) last = tried.refusal;
        if (!tried.ok && !tried.isFinal) return false;
        settle(tried);
        return true;
      },
      refuse: (refusal) => settle({ ok: false, refusal, isFinal: true }),
    };
    this.#line.add(waiter);
    const leave = (): void => {
      if (!this.#line.delete(waiter)) return;
      waiter.refuse(last);
      // Whoever stood behind may have waited for nobody else.
      this.serve();
    };
    return { result, leave };
  }

  /** Something changed: serves everybody who can be served, in order. */
  serve(): void {
    const blocked = new Set<string>();
    for (const waiter of [...this.#line]) {
      if (!this.#line.has(waiter)) continue;
      const isFirst = !waiter.resources.some((resource) => blocked.has(resource));
      if (isFirst && waiter.attempt()) this.#line.delete(waiter);
      else for (const resource of waiter.resources) blocked.add(resource);
    }
  }

  /** Sends everybody away. */
  close(refusal: AllocationRefusal): void {
    for (const waiter of this.#line) waiter.refuse(refusal);
    this.#line.clear();
  }
}
