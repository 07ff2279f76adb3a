// Which known names a mistyped one could have meant. Pure, and bounded: names come from outside.

/** A shorter part of a name says nothing. */
const LEAST_PART = 3;
/** Names listed at most. */
const MOST = 3;
/** Characters of a name that are compared; resource and driver names are shorter. */
const COMPARED = 320;
/** Characters that nobody mistypes more of, however long the name is. */
const MOST_DIFFERING = 8;
/**
 * Pairs of characters that are compared for one answer, a millisecond or two: beyond, names are only looked for in each other.
 */
const MOST_CELLS = 250_000;

/**
 * The known names nearest to a given one, nearest first: those that contain it or are contained in it, and those that
 * differ in about a quarter of the characters, and in eight, at most. Where there are more names, and more alike, than
 * can be compared in a moment, of those that differ the first ones count.
 */
export function nearNames(given: string, known: Iterable<string>): readonly string[] {
  const wanted = given.slice(0, COMPARED).toLowerCase();
  const allowed = Math.min(MOST_DIFFERING, Math.max(2, Math.floor(wanted.length / 4)));
  const budget = { cells: MOST_CELLS };
  return [...new Set(known)]
    .map((name) => ({ name, distance: distanceTo(name.slice(0, COMPARED).toLowerCase(), wanted, allowed, budget) }))
    .filter(({ distance }) => distance <= allowed)
    .sort((a, b) => (a.distance === b.distance ? (a.name < b.name ? -1 : 1) : a.distance - b.distance))
    .slice(0, MOST)
    .map(({ name }) => name);
}

/**
 * 1 for a part of the other, else the number of characters to insert, delete or change (Levenshtein), and Infinity where that is
 * more than `allowed`: only cells that so few changes can reach are computed, and none when the budget is spent.
 */
function distanceTo(name: string, wanted: string, allowed: number, budget: { cells: number }): number {
  const [short, long] = name.length < wanted.length ? [name, wanted] : [wanted, name];
  if (short.length >= LEAST_PART && long.includes(short)) return 1;
  if (long.length - short.length > allowed || budget.cells <= 0) return Infinity;
  budget.cells -= 2 * wanted.length; // of the two rows
  // A cell that is never written stays out of reach.
  let row = Array.from({ length: wanted.length + 2 }, (_, index) => (index <= allowed ? index : Infinity));
  let next = row.map(() => Infinity);
  for (let done = 1; done <= name.length; done += 1) {
    const from = Math.max(1, done - allowed);
    const to = Math.min(wanted.length, done + allowed);
    budget.cells -= to - from + 1;
    let least = (next[from - 1] = from === 1 ? done : Infinity);
    for (let at = from; at <= to; at += 1) {
      const change = (row[at - 1] as number) + (wanted[at - 1] === name[done - 1] ? 0 : 1);
      const cell = Math.min(change, (row[at] as number) + 1, (next[at - 1] as number) + 1);
      next[at] = cell;
      least = Math.min(least, cell);
    }
    if (least > allowed) return Infinity;
    [row, next] = [next, row];
  }
  return row[wanted.length] as number;
}
