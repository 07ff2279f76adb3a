// The output of a bench: rows for the one table that scripts/bench.mjs prints, each as a line of JSON on standard output.

/** The figures of several runs. */
export interface Spread {
  readonly runs: number;
  readonly min: number;
  readonly median: number;
  readonly max: number;
}

/** One figure and what stands beside it, measured in the same run. */
export interface Row {
  readonly figure: string;
  readonly unit:
    | 'ms'
    | 'MB'
    | '% of a core'
    | 'us'
    | 'ms of CPU'
    | 'calls/s'
    | 'descriptors'
    | 'calls'
    | 'connections'
    | 'resources';
  readonly broker: Spread;
  readonly beside: readonly { readonly what: string; readonly value: Spread }[];
  /** The goal: in words for people, and whether it was reached. */
  readonly limit?: { readonly text: string; readonly isMet: boolean };
}

/** Smallest, middle and largest. */
export function spread(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const median = sorted.length % 2 === 1 ? sorted[middle] : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
  return { runs: sorted.length, min: sorted[0] ?? NaN, median: median ?? NaN, max: sorted.at(-1) ?? NaN };
}

/** The value below which `share` of the others lie. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}

/** A limit on the median of a figure. */
export function atMost(value: Spread, most: number): NonNullable<Row['limit']> {
  return { text: `≤ ${String(most)}`, isMet: value.median <= most };
}

/** A limit on the median of a figure as a multiple of the median of what stands beside it. */
export function atMostTimes(value: Spread, floor: Spread, times: number): NonNullable<Row['limit']> {
  return { text: `≤ ${String(times)} ×`, isMet: value.median <= floor.median * times };
}

/** Says one row. */
export function say(row: Row): void {
  process.stdout.write(`${JSON.stringify({ row })}\n`);
}

/** Milliseconds on the machine's own clock, the same in all processes. */
export function now(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
