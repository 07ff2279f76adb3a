// Which known names a mistyped one could have meant. Pure, and bounded: names come from outside.

/** A shorter part of a name says nothing. */
const LEAST_PART = 3;
/** Names listed at most. */
const MOST = 3;
/** Characters of a name that are compared; resource and driver names are shorter. */
const COMPARED = 320;

/**
 * The known names nearest to a given one, nearest first: those that contain it or are contained in it, and those that
 * differ in about a quarter of the characters at most.
 */
export function nearNames(given: string, known: Iterable<string>): readonly string[] {
  const wanted = given.slice(0, COMPARED).toLowerCase();
  const allowed = Math.max(2, Math.floor(wanted.length / 4));
  return [...new Set(known)]
    .map((name) => ({ name, distance: distanceTo(name.slice(0, COMPARED).toLowerCase(), wanted, allowed) }))
    .filter(({ distance }) => distance <= allowed)
    .sort((a, b) => (a.distance === b.distance ? (a.name < b.name ? -1 : 1) : a.distance - b.distance))
    .slice(0, MOST)
    .map(({ name }) => name);
}

/**
 * 1 for a part of the other, else the number of characters to insert, delete or change (Levenshtein); not computed where
 * the lengths alone differ by more than `allowed`.
 */
function distanceTo(name: string, wanted: string, allowed: number): number {
  const [short, long] = name.length < wanted.length ? [name, wanted] : [wanted, name];
  if (short.length >= LEAST_PART && long.includes(short)) return 1;
  if (Math.abs(name.length - wanted.length) > allowed) return Infinity;
  let row = Array.from({ length: wanted.length + 1 }, (_, index) => index);
  for (let done = 0; done < name.length; done++) {
    const next = [done + 1];
    for (let at = 1; at <= wanted.length; at++) {
      const change = (row[at - 1] as number) + (wanted[at - 1] === name[done] ? 0 : 1);
      next.push(Math.min(change, (row[at] as number) + 1, (next[at - 1] as number) + 1));
    }
    row = next;
  }
  return row[wanted.length] as number;
}
