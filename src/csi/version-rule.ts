// Which of the versions a CSI driver offers is taken: the kubelet's rule (validateVersions with apimachinery's generic
// version), so that every driver it lets in gets in here. Pure.

/** The largest number a version may have: the kubelet parses into 64 bits and skips larger ones. */
const MAX_COMPONENT = 2n ** 64n - 1n;
/** Longer ones are not even read: making a number of a million digits takes minutes. */
const MAX_TEXT = 256;

/**
 * Reads a version: optional space, optional `v`, at least two numbers separated by dots (the first without leading
 * zero), anything behind them.
 *
 * @returns its numbers, or undefined where it is no version
 */
export function parseVersion(text: string): readonly bigint[] | undefined {
  if (text.length > MAX_TEXT) return undefined;
  const numbers = /^\s*v?(\d+(?:\.\d+)*)[^\n]*$/.exec(text)?.[1]?.split('.');
  if (numbers === undefined || numbers.length < 2) return undefined;
  const [major] = numbers;
  if (major !== undefined && major.length > 1 && major.startsWith('0')) return undefined;
  const parsed = numbers.map(BigInt);
  return parsed.some((number) => number > MAX_COMPONENT) ? undefined : parsed;
}

/** Orders versions by their numbers; trailing zeros make no difference. Negative when `a` is the lower one. */
export function compareVersions(a: readonly bigint[], b: readonly bigint[]): number {
  for (let index = 0; index < Math.max(a.length, b.length); index++) {
    const difference = (a[index] ?? 0n) - (b[index] ?? 0n);
    if (difference !== 0n) return difference < 0n ? -1 : 1;
  }
  return 0;
}

/**
 * The highest version that is not above 1.x, if its major number is 1; spelled as it was offered.
 */
export function chooseVersion(offered: readonly string[]): string | undefined {
  let best: { readonly text: string; readonly numbers: readonly bigint[] } | undefined;
  for (const text of offered) {
    const numbers = parseVersion(text);
    if (numbers === undefined || (numbers[0] ?? 0n) > 1n) continue;
    if (best === undefined || compareVersions(numbers, best.numbers) > 0) best = { text, numbers };
  }
  return best?.numbers[0] === 1n ? best.text : undefined;
}
