// Bounds a map without walking over all of it.

/** Entries looked at for one that can be forgotten, so that a flood of newcomers costs each call the same. */
const LOOK_AT = 16;

/**
 * Takes one entry out that can be forgotten. Entries that were looked at in vain go to the end, so that the next look begins with
 * others and reaches all of them in time.
 *
 * @returns the entry taken out, or undefined when none of those looked at can be forgotten
 */
export function makeRoom<V>(entries: Map<string, V>, isForgettable: (entry: V, key: string) => boolean): V | undefined {
  let looked = 0;
  for (const [key, entry] of entries) {
    entries.delete(key);
    if (isForgettable(entry, key)) return entry;
    entries.set(key, entry);
    looked += 1;
    if (looked === LOOK_AT) break;
  }
  return undefined;
}

/** How entries of a map are made and forgotten. */
export interface EntryKeeping<V> {
  /** Entries that are kept apart; newcomers past that share one. */
  readonly most: number;
  /** The key of the one that is shared. */
  readonly others: string;
  /** Makes the entry of a newcomer, or the shared one. */
  readonly open: (isShared: boolean) => V;
  /** Whether nobody gains or loses by it when the entry is forgotten and made again. */
  readonly isForgettable: (entry: V) => boolean;
  /** Ends a forgotten entry. */
  readonly close?: (entry: V) => void;
}

/** The entry of a key. It is made where there is none: in the room of one that can be forgotten, else for all further keys. */
export function entryOf<V>(entries: Map<string, V>, key: string, keeping: EntryKeeping<V>): V {
  const known = entries.get(key);
  if (known !== undefined) return known;
  let own = key;
  if (entries.size >= keeping.most) {
    const forgotten = makeRoom(entries, keeping.isForgettable);
    if (forgotten === undefined) own = keeping.others;
    else keeping.close?.(forgotten);
  }
  const entry = entries.get(own) ?? keeping.open(own !== key);
  entries.set(own, entry);
  return entry;
}
