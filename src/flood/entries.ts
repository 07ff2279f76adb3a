// Entries of users or of processes, bounded however many there are.
import type { BucketSettings } from '../model/settings.js';
import type { Limiter } from './limiter.js';
import { makeRoom } from './make-room.js';

/** Entries that are kept apart where nothing else is said; newcomers past that share one. */
const MOST = 1_024;

/** How entries are forgotten. */
export interface EntryKeeping<V> {
  readonly most?: number;
  /** Whether nobody gains or loses by it when the entry is forgotten and made again. */
  readonly isForgettable: (entry: V) => boolean;
  /** Ends an entry. */
  readonly close?: (entry: V) => void;
}

/** A bounded number of entries by key. */
export class Entries<V> {
  readonly #keeping: EntryKeeping<V>;
  readonly #entries = new Map<string, V>();

  constructor(keeping: EntryKeeping<V>) {
    this.#keeping = keeping;
  }

  /** Entries there are. */
  get size(): number {
    return this.#entries.size;
  }

  /** All of them, in no order that means anything. */
  all(): V[] {
    return [...this.#entries.values()];
  }

  /**
   * The entry of a key. It is made where there is none: in the room of one that can be forgotten, else for all further keys.
   *
   * @param open makes the entry of a newcomer, or the shared one
   * @param others the key of the one that is shared
   */
  of(key: string, open: (isShared: boolean) => V, others = 'others'): V {
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    const { most = MOST, isForgettable, close } = this.#keeping;
    let own = key;
    if (this.#entries.size >= most) {
      const forgotten = makeRoom(this.#entries, isForgettable);
      if (forgotten === undefined) own = others;
      else close?.(forgotten);
    }
    const entry = this.#entries.get(own) ?? open(own !== key);
    this.#entries.set(own, entry);
    return entry;
  }

  /** Ends all of them. */
  close(): void {
    for (const entry of this.#entries.values()) this.#keeping.close?.(entry);
    this.#entries.clear();
  }
}

/** Entries with a bucket each, which can be forgotten when it is full. */
export class Limiters<V extends { readonly limiter: Limiter }> extends Entries<V> {
  constructor(keeping: Partial<EntryKeeping<V>> = {}) {
    super({ isForgettable: ({ limiter }) => limiter.isFull(), close: ({ limiter }) => limiter.close(), ...keeping });
  }

  /** They go on under other settings with the permits that are left. */
  reload(settings: BucketSettings): void {
    for (const { limiter } of this.all()) limiter.reload(settings);
  }
}
