// The order in which groups take turns. Pure.

/**
 * Puts items in an order in which groups take turns: the first of each, the second of each, and so on; those of no group come before
 * all others.
 *
 * @param groupOf undefined: none
 */
export function inTurns<T>(items: readonly T[], groupOf: (item: T) => number | undefined): readonly T[] {
  const counts = new Map<number, number>();
  const turns = items.map((item) => {
    const group = groupOf(item);
    if (group === undefined) return { item, turn: 0 };
    const turn = (counts.get(group) ?? 0) + 1;
    counts.set(group, turn);
    return { item, turn };
  });
  return turns.sort((a, b) => a.turn - b.turn).map(({ item }) => item);
}
