// The requests that wait for devices: strictly first come, first served for each resource. A request for several resources stands
// in line for each of them, in the same position, so that two requests never wait for each other. A request of an ordinary user
// that waits for devices which others cannot give back, or for something else, keeps only the requests of the same user waiting.
import type { Clock } from '../kernel/clock.js';
import type { AllocationRefusal } from '../model/allocation-reasons.js';
import type { AllocationPorts } from './ports.js';

/**
 * The decision about a request. `isFinal`: waiting does not help. `lacks`: a resource that has too few free devices at this
 * moment, and enough once other users give theirs back.
 */
export type Decision<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly refusal: AllocationRefusal; readonly isFinal: boolean; readonly lacks?: string };

/** A request's user, and its resources. */
export interface Wanting {
  readonly resources: readonly string[];
  /** Its user: the one uid that stands for all of it. */
  readonly uid: number;
  /** Neither root nor the broker's own user. */
  readonly isStranger: boolean;
}

/** Somebody in line. */
interface Waiter extends Wanting {
  /** Of the last attempt. */
  lacks(): string | undefined;
  /** Whether it may be served now, after a change of these resources, and where a lease ended. */
  isConcerned(changed: ReadonlySet<string>, hasLeaseEnded: boolean): boolean;
  /** Whether the time for deciding about it was spent at the last attempt, which nobody's devices have to do with. */
  isPutOff(): boolean;
  /** Tries at once, in one synchronous step; true when it is settled, either way. */
  attempt(): boolean;
  refuse(refusal: AllocationRefusal): void;
}

/** The resources that waiting requests keep others from. */
class Kept {
  readonly #fromAll = new Set<string>();
  /** By user. */
  readonly #fromOwn = new Map<number, Set<string>>();

  /** Whether somebody before keeps a request waiting. */
  has({ resources, uid }: Wanting): boolean {
    return resources.some((one) => this.#fromAll.has(one)) || this.#isBehindOwn(resources, uid);
  }

  /** A request goes on waiting. */
  add(waiter: Waiter): void {
    const { resources, uid, isStranger } = waiter;
    const isBehindOwn = this.#isBehindOwn(resources, uid);
    const own = this.#fromOwn.get(uid) ?? new Set();
    this.#fromOwn.set(uid, own);
    for (const resource of resources) {
      if (!isStranger || (!isBehindOwn && waiter.lacks() === resource)) this.#fromAll.add(resource);
      else own.add(resource);
    }
  }

  #isBehindOwn(resources: readonly string[], uid: number): boolean {
    const own = this.#fromOwn.get(uid);
    return own !== undefined && resources.some((one) => own.has(one));
  }
}

/** The line. */
export class Waiting {
  readonly #line = new Set<Waiter>();

  /** The users of the waiting requests. */
  uids(): readonly number[] {
    return [...this.#line].map(({ uid }) => uid);
  }

  /** How many wait. */
  get size(): number {
    return this.#line.size;
  }

  /** Whether somebody is in line before a newcomer. */
  isBlocked(newcomer: Wanting): boolean {
    const kept = new Kept();
    for (const waiter of this.#line) kept.add(waiter);
    return kept.has(newcomer);
  }

  /**
   * Tries when nobody is before, and else stands in line, for so long at most.
   *
   * @param attempt is told whether the request stands in line already
   * @param full says why nobody may stand in line further back
   */
  async inTurn<T>(
    wanting: Wanting,
    attempt: (isWaiting: boolean) => Decision<T>,
    { clock, waitMs, signal }: { readonly clock: Clock; readonly waitMs: number; readonly signal: AbortSignal },
    full: () => string | undefined,
  ): Promise<Decision<T>> {
    const others = {
      code: 'NO_DEVICES',
      message: `others wait for ${wanting.resources.join(' and ')} already`,
    } as const;
    const first: Decision<T> = this.isBlocked(wanting)
      ? { ok: false, refusal: others, isFinal: false }
      : attempt(false);
    if (first.ok || first.isFinal || waitMs === 0) return first;
    const problem = full();
    if (problem !== undefined) {
      const message = `${problem}; ${first.refusal.message}`;
      return { ok: false, refusal: { code: 'QUEUE_FULL', message }, isFinal: true };
    }
    const { result, leave } = this.wait(wanting, () => attempt(true), first);
    const alarm = clock.alarm(waitMs, leave);
    signal.addEventListener('abort', leave, { once: true });
    if (signal.aborted) leave();
    try {
      return await result;
    } finally {
      alarm.cancel();
      signal.removeEventListener('abort', leave);
    }
  }

  /**
   * Stands in line until an attempt settles.
   *
   * @param attempt tried when all before it have been served
   * @param first the result of the first attempt
   * @returns the result, with the last refusal when `leave` is called
   */
  wait<T>(
    wanting: Wanting,
    attempt: () => Decision<T>,
    first: Decision<T> & { readonly ok: false },
  ): { readonly result: Promise<Decision<T>>; readonly leave: () => void } {
    let last = first;
    let settle: (result: Decision<T>) => void = () => undefined;
    const result = new Promise<Decision<T>>((resolve) => (settle = resolve));
    const waiter: Waiter = {
      ...wanting,
      lacks: () => last.lacks,
      isPutOff: () => last.refusal.code === 'FLOOD_ALLOCATE',
      isConcerned: (changed, hasLeaseEnded) =>
        (hasLeaseEnded && last.refusal.code === 'LEASES_FULL') || wanting.resources.some((one) => changed.has(one)),
      attempt: () => {
        const tried = attempt();
        if (!tried.ok) last = tried;
        if (!tried.ok && !tried.isFinal) return false;
        settle(tried);
        return true;
      },
      refuse: (refusal) => settle({ ok: false, refusal, isFinal: true }),
    };
    this.#line.add(waiter);
    const leave = (): void => {
      if (!this.#line.has(waiter)) return;
      const behind = this.#keptBehind(waiter);
      this.#line.delete(waiter);
      waiter.refuse(last.refusal);
      // They may have waited for nothing else. For those before it nothing has changed, and a user that comes and leaves would
      // spend the time for deciding about them.
      this.serve(new Set(wanting.resources), false, (one) => behind.has(one));
    };
    return { result, leave };
  }

  /**
   * Something changed, of these resources if they are named: serves as `serve` does, but each resource when its list is at
   * hand, so that a long list delays only the requests for its own resource.
   *
   * @param offers has the lists of resources prepared
   * @param hasLeaseEnded there is room for another lease, too
   * @param isMeant which requests are concerned at all
   */
  look(
    offers: Pick<AllocationPorts['offers'], 'prepare'>,
    changed?: ReadonlySet<string>,
    hasLeaseEnded = false,
    isMeant: (waiter: Waiter) => boolean = () => true,
  ): void {
    const wanted = new Set<string>();
    for (const { resources } of this.#line)
      for (const resource of resources) if (changed?.has(resource) !== false) wanted.add(resource);
    const atHand = new Set<string>();
    for (const resource of wanted) {
      const ready = offers.prepare([resource]);
      if (ready === undefined) atHand.add(resource);
      else void ready.then(() => this.serve(new Set([resource]), false, isMeant));
    }
    this.serve(atHand, changed === undefined || hasLeaseEnded, isMeant);
  }

  /** These resources changed, or a lease ended: serves all requests that are meant and can be served, in order. */
  serve(changed: ReadonlySet<string>, hasLeaseEnded = false, isMeant: (waiter: Waiter) => boolean = () => true): void {
    if (changed.size === 0 && !hasLeaseEnded) return;
    const kept = new Kept();
    /** Of requests that were before those that come now, and are not any more. */
    const open = new Set<string>();
    for (const waiter of [...this.#line]) {
      if (!this.#line.has(waiter)) continue;
      const isConcerned =
        waiter.isConcerned(open, false) || (isMeant(waiter) && waiter.isConcerned(changed, hasLeaseEnded));
      const isTried = isConcerned && !kept.has(waiter);
      const lacked = waiter.lacks();
      if (isTried && waiter.attempt()) {
        this.#line.delete(waiter);
        // A request behind it may be the first now.
        for (const resource of waiter.resources) open.add(resource);
        continue;
      }
      kept.add(waiter);
      // It may keep others from another resource by now, and a request behind it may be the first for this one.
      if (lacked !== undefined && waiter.lacks() !== lacked) open.add(lacked);
    }
  }

  /** Those behind a request that somebody before them keeps waiting. */
  #keptBehind(leaver: Waiter): ReadonlySet<Waiter> {
    const kept = new Kept();
    const behind = new Set<Waiter>();
    let isBehind = false;
    for (const waiter of this.#line) {
      if (isBehind && kept.has(waiter)) behind.add(waiter);
      isBehind ||= waiter === leaver;
      kept.add(waiter);
    }
    return behind;
  }

  /** Sends everybody away. */
  close(refusal: AllocationRefusal): void {
    for (const waiter of this.#line) waiter.refuse(refusal);
    this.#line.clear();
  }
}
