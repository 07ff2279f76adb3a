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
