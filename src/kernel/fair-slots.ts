// A bounded number of slots, shared fairly: an owner that wants thousands makes only itself wait.
import { asError } from './clock.js';

/** The number of slots. */
export interface SlotLimits {
  /** For each owner that is trusted. */
  readonly trusted: number;
  /** For each other owner, and for all others together. */
  readonly other: number;
  readonly others: number;
  readonly isTrusted: (owner: number) => boolean;
}

interface Waiting {
  readonly start: () => void;
}

/** Slots of work that is under way, by owner. */
export class FairSlots {
  readonly #limits: SlotLimits;
  readonly #busy = new Map<number, number>();
  /** In the order in which they take turns. */
  readonly #waiting = new Map<number, Waiting[]>();
  #others = 0;

  constructor(limits: SlotLimits) {
    this.#limits = limits;
  }

  /** Slots that are taken. */
  get taken(): number {
    let taken = 0;
    for (const busy of this.#busy.values()) taken += busy;
    return taken;
  }

  /** How many of an owner wait. */
  waiting(owner: number): number {
    return this.#waiting.get(owner)?.length ?? 0;
  }

  /**
   * Waits for a slot.
   *
   * @param owner of the share, a uid for example
   * @returns gives it back; idempotent
   * @throws the signal's reason when it aborts before
   */
  take(owner: number, signal: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(asError(signal.reason));
        return;
      }
      const giveUp = (): void => {
        const queue = this.#waiting.get(owner)?.filter((one) => one !== waiting) ?? [];
        if (queue.length > 0) this.#waiting.set(owner, queue);
        else this.#waiting.delete(owner);
        reject(asError(signal.reason));
      };
      const waiting: Waiting = {
        start: () => {
          signal.removeEventListener('abort', giveUp);
          resolve(this.#slot(owner));
        },
      };
      signal.addEventListener('abort', giveUp, { once: true });
      const queue = this.#waiting.get(owner);
      if (queue === undefined) this.#waiting.set(owner, [waiting]);
      else queue.push(waiting);
      this.#startNext();
    });
  }

  #slot(owner: number): () => void {
    const by = this.#limits.isTrusted(owner) ? 0 : 1;
    this.#busy.set(owner, (this.#busy.get(owner) ?? 0) + 1);
    this.#others += by;
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      const busy = (this.#busy.get(owner) ?? 1) - 1;
      if (busy === 0) this.#busy.delete(owner);
      else this.#busy.set(owner, busy);
      this.#others -= by;
      this.#startNext();
    };
  }

  #mayStart(owner: number): boolean {
    const { trusted, other, others, isTrusted } = this.#limits;
    const busy = this.#busy.get(owner) ?? 0;
    return isTrusted(owner) ? busy < trusted : busy < other && this.#others < others;
  }

  /** One of each owner in turn, as long as there is room. */
  #startNext(): void {
    for (let hasStarted = true; hasStarted;) {
      hasStarted = false;
      for (const [owner, queue] of [...this.#waiting]) {
        if (!this.#mayStart(owner)) continue;
        const next = queue.shift();
        // An owner that had its turn comes after the others.
        this.#waiting.delete(owner);
        if (queue.length > 0) this.#waiting.set(owner, queue);
        hasStarted ||= next !== undefined;
        next?.start();
      }
    }
  }
}
