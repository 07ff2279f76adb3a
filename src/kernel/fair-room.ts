// Bounded room, shared fairly by its owners: an owner that wants thousands of places makes only itself wait.
import { asError } from './clock.js';

/** The size of the room. A single place is always given to one who has none, however large it is. */
export interface RoomLimits {
  /** For each owner that is trusted. */
  readonly trusted: number;
  /** For each other owner, and for all others together. */
  readonly other: number;
  readonly others: number;
  readonly isTrusted: (owner: number) => boolean;
}

/** The owner of the places of root and the broker's own user, in rooms that do not tell these apart. */
export const TRUSTED = -1;

/** The limits of such a room. */
export function besideTrusted(limits: Omit<RoomLimits, 'isTrusted'>): RoomLimits {
  return { ...limits, isTrusted: (owner) => owner === TRUSTED };
}

/** A place in the room, or in the line for it. */
export interface Place {
  readonly isGranted: boolean;
  /** Gives it back, or up. Idempotent. */
  leave(): void;
}

interface Waiter {
  readonly size: number;
  readonly granted: () => void;
  isGranted: boolean;
}

/** An owner that has places, or waits for one. */
interface Owner {
  held: number;
  readonly waiting: Set<Waiter>;
  /** Which turn it had last; at first just before the last one of all, so that an owner that leaves for a moment is behind those that went on waiting. */
  turn: number;
}

/** Room for work or for bytes, by owner. */
export class FairRoom {
  readonly #limits: RoomLimits;
  readonly #owners = new Map<number, Owner>();
  #others = 0;
  #turns = 0;

  constructor(limits: RoomLimits) {
    this.#limits = limits;
  }

  /** The room that each owner has taken, of those that have any. */
  held(): readonly number[] {
    return [...this.#owners.values()].map(({ held }) => held).filter((held) => held > 0);
  }

  /** How many places an owner waits for. */
  waiting(owner: number): number {
    return this.#owners.get(owner)?.waiting.size ?? 0;
  }

  /**
   * Takes a place, or joins the line.
   *
   * @param owner of the share, a uid for example
   * @param granted called once when the turn has come, unless there is room at once
   */
  enter(owner: number, size: number, granted: () => void): Place {
    const own = this.#owners.get(owner) ?? { held: 0, waiting: new Set(), turn: this.#turns - 0.5 };
    this.#owners.set(owner, own);
    const waiter: Waiter = { size, granted, isGranted: false };
    if (own.waiting.size === 0 && this.#fits(owner, own, size)) this.#grant(owner, own, waiter);
    else own.waiting.add(waiter);
    let hasLeft = false;
    return {
      get isGranted() {
        return waiter.isGranted;
      },
      leave: () => {
        if (hasLeft) return;
        hasLeft = true;
        own.waiting.delete(waiter);
        if (waiter.isGranted) this.#count(owner, own, -size);
        if (own.held === 0 && own.waiting.size === 0) this.#owners.delete(owner);
        this.#serve();
      },
    };
  }

  /**
   * Waits for a place of size 1.
   *
   * @returns gives it back; idempotent
   * @throws the signal's reason when it aborts before
   */
  take(owner: number, signal?: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) {
        reject(asError(signal.reason));
        return;
      }
      const granted = (): void => {
        signal?.removeEventListener('abort', giveUp);
        resolve(() => place.leave());
      };
      const giveUp = (): void => {
        place.leave();
        reject(asError(signal?.reason));
      };
      const place = this.enter(owner, 1, granted);
      if (place.isGranted) granted();
      else signal?.addEventListener('abort', giveUp, { once: true });
    });
  }

  #fits(owner: number, { held }: Owner, size: number): boolean {
    const { trusted, other, others, isTrusted } = this.#limits;
    if (isTrusted(owner)) return held === 0 || held + size <= trusted;
    return (held === 0 || held + size <= other) && (this.#others === 0 || this.#others + size <= others);
  }

  #grant(owner: number, own: Owner, waiter: Waiter): void {
    own.waiting.delete(waiter);
    waiter.isGranted = true;
    this.#turns += 1;
    own.turn = this.#turns;
    this.#count(owner, own, waiter.size);
  }

  #count(owner: number, own: Owner, by: number): void {
    own.held += by;
    if (!this.#limits.isTrusted(owner)) this.#others += by;
  }

  /** One of each owner in turn, as long as there is room: first those that have none, and the one whose turn is longest ago. */
  #serve(): void {
    for (let hasServed = true; hasServed;) {
      hasServed = false;
      for (const [owner, own] of [...this.#owners].sort(([, a], [, b]) => rank(a, b))) {
        const [next] = own.waiting;
        if (next === undefined || !this.#fits(owner, own, next.size)) continue;
        this.#grant(owner, own, next);
        hasServed = true;
        next.granted();
      }
    }
  }
}

function rank(a: Owner, b: Owner): number {
  const byNeed = Number(a.held > 0) - Number(b.held > 0);
  return byNeed === 0 ? a.turn - b.turn : byNeed;
}
