// How often one uid may ask for devices: `burst` at once, one more each interval.
import type { Limiter, OpenLimiter } from './limiter.js';
import { makeRoom } from './make-room.js';

const SETTINGS = { burst: 20, intervalMs: 50 } as const;
/** Uids counted apart; further ones are counted together. */
const MAX_UIDS = 1024;
const OTHERS = -1;

/** The bucket `allocate` of each uid. */
export class AllocateLimit {
  readonly #open: OpenLimiter;
  readonly #buckets = new Map<string, Limiter>();
  readonly #exceeded: () => void;

  /** @param exceeded counts one call that was refused */
  constructor(open: OpenLimiter, exceeded: () => void) {
    this.#open = open;
    this.#exceeded = exceeded;
  }

  /** Counts a call. Undefined: it may go on; else milliseconds until the next one may. */
  ask(uid: number): number | undefined {
    const bucket = this.#bucketOf(String(uid));
    if (bucket.tryTake()) return undefined;
    this.#exceeded();
    return Math.max(1, Math.ceil(bucket.nextInMs()));
  }

  /** Stops all limiters. */
  close(): void {
    for (const bucket of this.#buckets.values()) bucket.close();
    this.#buckets.clear();
  }

  #bucketOf(uid: string): Limiter {
    const known = this.#buckets.get(uid);
    if (known !== undefined) return known;
    let key = uid;
    if (this.#buckets.size >= MAX_UIDS) {
      const evicted = makeRoom(this.#buckets, (bucket) => bucket.isFull());
      evicted?.close();
      if (evicted === undefined) key = String(OTHERS);
    }
    const bucket = this.#buckets.get(key) ?? this.#open(SETTINGS);
    this.#buckets.set(key, bucket);
    return bucket;
  }
}
