// Parts that do not fit into the answers, in one sentence for all of them.

/** The parts that can be left out: owners of leases, devices of one owner, pods of the kubelet, and resources. */
export type LeftOut = 'List' | 'Get' | 'upstream' | 'GetAllocatableResources';

const WORDS: readonly (readonly [LeftOut, (count: string) => string])[] = [
  ['upstream', (count) => `${count} pods of the kubelet are not in List (Get has them)`],
  ['List', (count) => `${count} owners are not in List (Get has them)`],
  ['Get', (count) => `devices of ${count} owners are not in Get`],
  ['GetAllocatableResources', (count) => `devices of ${count} resources are not in GetAllocatableResources`],
];

/**
 * Follows the parts left out.
 *
 * @param tell one sentence, or undefined when everything fits again
 * @returns takes how many of one kind are left out now
 */
export function incompleteAnswers(tell: (why: string | undefined) => void): (what: LeftOut, count: number) => void {
  const left = new Map<LeftOut, number>();
  return (what, count) => {
    left.set(what, count);
    const parts = WORDS.flatMap(([one, say]) => {
      const missing = left.get(one) ?? 0;
      return missing === 0 ? [] : [say(String(missing))];
    });
    tell(
      parts.length === 0
        ? undefined
        : `PodResources answers are cut, because clients take 4 MiB at most: ${parts.join(', and ')}`,
    );
  };
}
