// Durations as people write them.

const FORM = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/;
const MILLISECONDS: ReadonlyMap<string, number> = new Map([
  ['ms', 1],
  ['s', 1_000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
]);

/** Milliseconds of `250ms`, `1.5s`, `5m`, `2h` or `1d`; undefined for any other text. */
export function durationMs(text: string): number | undefined {
  const [, number, unit = ''] = FORM.exec(text) ?? [];
  const factor = MILLISECONDS.get(unit);
  return factor === undefined ? undefined : Number(number) * factor;
}
