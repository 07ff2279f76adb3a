// The lines of records, put together: runs, and in each the scenarios with all their observations.
import type { RecordLine, RecordOf } from '../record.js';

/** The observations of one scenario. */
export interface ScenarioStory {
  readonly name: string;
  readonly begin: RecordOf<'begin'>;
  /** Everything but begin and verdict, in the order of the record. */
  readonly lines: readonly RecordLine[];
  /** Undefined when the run ended before there was one. */
  readonly verdict: RecordOf<'verdict'> | undefined;
}

/** One run of `verify`. */
export interface RunStory {
  readonly run: RecordOf<'run'>;
  /** In the order in which they began; of one that was repeated the worst. */
  readonly scenarios: readonly ScenarioStory[];
}

interface Open {
  begin: RecordOf<'begin'>;
  lines: RecordLine[];
  verdict: RecordOf<'verdict'> | undefined;
}

/** Puts the lines of one or more records together. */
export function runsOf(lines: readonly RecordLine[]): readonly RunStory[] {
  const runs: { run: RecordOf<'run'>; open: Map<string, Open[]> }[] = [];
  for (const line of lines) {
    if (line.kind === 'run') {
      runs.push({ run: line, open: new Map() });
      continue;
    }
    const open = runs.at(-1)?.open;
    if (open === undefined) continue;
    const told = open.get(line.s) ?? [];
    open.set(line.s, told);
    if (line.kind === 'begin') told.push({ begin: line, lines: [], verdict: undefined });
    else if (line.kind === 'verdict') end(told, line);
    else told.at(-1)?.lines.push(line);
  }
  return runs.map(({ run, open }) => ({
    run,
    scenarios: [...open].flatMap(([name, told]) => {
      const worst = told.find(({ verdict }) => verdict?.verdict === 'failed') ?? told.at(-1);
      return worst === undefined ? [] : [{ name, ...worst }];
    }),
  }));
}

/** A scenario that was skipped has a verdict and never began. */
function end(told: Open[], verdict: RecordOf<'verdict'>): void {
  const last = told.at(-1);
  if (last !== undefined && last.verdict === undefined) last.verdict = verdict;
  else if (last === undefined) {
    const begin = { kind: 'begin', s: verdict.s, at: '', does: '', passesWhen: '', run: 1 } as const;
    told.push({ begin, lines: [], verdict });
  }
}

/** The output of a process in a scenario; empty: nothing was recorded. */
export function logOf({ lines }: ScenarioStory, from: RecordOf<'log'>['from']): string {
  return lines.flatMap((line) => (line.kind === 'log' && line.from === from ? [line.text] : [])).join('');
}

/** Whether a run failed: a scenario that only warns does not fail it. */
export function hasFailed({ scenarios }: RunStory): boolean {
  return scenarios.some(({ verdict }) => verdict?.verdict === 'failed' && !verdict.warn);
}

/** How many scenarios had which verdict. */
export function countsOf({ scenarios }: RunStory): Readonly<Record<'passed' | 'failed' | 'skipped', number>> {
  const count = (wanted: string): number => scenarios.filter(({ verdict }) => verdict?.verdict === wanted).length;
  return { passed: count('passed'), failed: count('failed'), skipped: count('skipped') };
}
