// A baseline: the verdicts of one run, to compare a later run with, so that a plugin with a known gap can begin today.
import * as z from 'zod';
import { VERDICT_CODES, type VerdictCode } from '../verdict.js';
import type { RunStory } from './runs.js';

const SCHEMA = 'plugin-broker-verify-baseline/1';
/** A scenario that takes longer by this factor and by so many seconds is told, and does not fail anything. */
const SLOWER_FACTOR = 2;
const SLOWER_SECONDS = 0.5;

const form = z.object({
  schema: z.literal(SCHEMA),
  tool: z.string(),
  at: z.string(),
  label: z.string(),
  command: z.array(z.string()),
  scenarios: z.array(
    z.object({
      name: z.string(),
      verdict: z.enum(['passed', 'failed', 'skipped']),
      code: z.enum(Object.keys(VERDICT_CODES) as [VerdictCode, ...VerdictCode[]]),
      seconds: z.number(),
    }),
  ),
});

/** The file of `--save`. */
export type Baseline = z.infer<typeof form>;

/** The changes of a run against a baseline: one sentence each. */
export interface Comparison {
  /** Scenarios that passed or were skipped and fail now, or were judged and are not any more because the plugin is worse. */
  readonly regressions: readonly string[];
  readonly repairs: readonly string[];
  /** Scenarios of which the baseline knows nothing, or that were not run now. */
  readonly notes: readonly string[];
}

/** The baseline of a run. */
export function baselineOf({ run, scenarios }: RunStory): Baseline {
  const { tool, at, label, command } = run;
  return {
    schema: SCHEMA,
    tool,
    at,
    label,
    command: [...command],
    scenarios: scenarios.flatMap(({ name, verdict }) =>
      verdict === undefined ? [] : [{ name, verdict: verdict.verdict, code: verdict.code, seconds: verdict.seconds }],
    ),
  };
}

/**
 * Reads a baseline.
 *
 * @returns it, or why it is none, in one sentence
 */
export function parseBaseline(text: string, name: string): Baseline | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (failure) {
    return `${name} is no JSON: ${(failure as Error).message}; write a baseline with --save`;
  }
  const checked = form.safeParse(value);
  if (checked.success) return checked.data;
  const [issue] = checked.error.issues;
  return `${name} is no baseline (${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'wrong'}); write one with --save`;
}

/** Compares a run with a baseline. A scenario that only warns is compared, too; a failure of it is a note. */
export function compare(before: Baseline, now: RunStory): Comparison {
  const [regressions, repairs, notes]: string[][] = [[], [], []];
  const known = new Map(before.scenarios.map((one) => [one.name, one]));
  for (const { name, verdict } of now.scenarios) {
    if (verdict === undefined) continue;
    const old = known.get(name);
    known.delete(name);
    const text = `${name}: ${verdict.verdict} (${verdict.code})`;
    if (old === undefined) notes?.push(`${text} is new`);
    else if (verdict.verdict === 'failed' && old.verdict !== 'failed') {
      const was = `${text}, was ${old.verdict} (${old.code})`;
      if (verdict.warn) notes?.push(`${was}, and only warns: ${verdict.evidence}`);
      else regressions?.push(`${was}: ${verdict.evidence}`);
    } else if (old.verdict === 'failed' && verdict.verdict === 'passed')
      repairs?.push(`${text}, was failed (${old.code})`);
    else if (old.verdict !== verdict.verdict || old.code !== verdict.code) {
      notes?.push(`${text}, was ${old.verdict} (${old.code})`);
    } else if (isSlower(old.seconds, verdict.seconds)) {
      notes?.push(`${name} took ${verdict.seconds.toFixed(1)} s, before ${old.seconds.toFixed(1)} s`);
    }
  }
  for (const name of known.keys()) notes?.push(`${name} was not run`);
  return { regressions: regressions ?? [], repairs: repairs ?? [], notes: notes ?? [] };
}

function isSlower(before: number, now: number): boolean {
  return now > before * SLOWER_FACTOR && now - before > SLOWER_SECONDS;
}
