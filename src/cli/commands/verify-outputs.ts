// The files that `verify` and `report` write about runs. Loaded when there is a run.
import { accessSync, appendFileSync, constants, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { visible } from '../../kernel/visible.js';
import { baselineOf, compare, parseBaseline, type Baseline, type Comparison } from '../../verify/report/baseline.js';
import { htmlReport } from '../../verify/report/html.js';
import type { RunStory } from '../../verify/report/runs.js';
import { markdownSummary } from '../../verify/report/summary.js';
import { SCENARIOS } from '../../verify/scenarios.js';
import { CliError, EXIT } from '../exit.js';
import type { RunOutputs } from './run-outputs.js';

/** The outputs, checked for mistakes before anything is started. */
export interface CheckedOutputs {
  readonly outputs: RunOutputs;
  readonly baseline: Baseline | undefined;
  readonly summaryFile: string | undefined;
}

/** @throws CliError of wrong usage */
export function checkOutputs(outputs: RunOutputs, name: string): CheckedOutputs {
  const wrong = (message: string): never => {
    throw new CliError(EXIT.usage, `${name}: ${message}`);
  };
  const summaryFile = outputs.summary === true ? process.env['GITHUB_STEP_SUMMARY'] : outputs.summary;
  if (outputs.summary !== undefined && (summaryFile ?? '') === '') {
    wrong('--summary needs a file where GITHUB_STEP_SUMMARY is not set');
  }
  for (const file of [outputs.report, outputs.save, summaryFile]) if (file !== undefined) checkWritable(file, wrong);
  return {
    outputs,
    baseline: outputs.compare === undefined ? undefined : readBaseline(outputs.compare, wrong),
    summaryFile,
  };
}

/** @throws the error of `wrong` when the file cannot be written, or the folder of one that is not there */
export function checkWritable(file: string, wrong: (message: string) => never): void {
  const target = path.resolve(file);
  const status = statSync(target, { throwIfNoEntry: false });
  if (status?.isDirectory() === true) wrong(`${file} is a directory`);
  try {
    accessSync(status === undefined ? path.dirname(target) : target, constants.W_OK);
  } catch {
    wrong(`${file} cannot be written`);
  }
}

/** Makes a directory if it is not there. @throws the error of `wrong` when it cannot be made */
export function needDirectory(directory: string, wrong: (message: string) => never): void {
  try {
    mkdirSync(directory, { recursive: true });
  } catch (failure) {
    wrong(`${directory} cannot be made: ${(failure as Error).message}`);
  }
}

/** Writes the files. @returns the sentence about the comparison; undefined where none was asked for */
export function writeOutputs(told: readonly RunStory[], checked: CheckedOutputs): Comparison | undefined {
  const runs = told.map(inOrder);
  const { outputs, baseline, summaryFile } = checked;
  const newest = runs.at(-1);
  const mends = new Map(SCENARIOS.map(({ name, mend }) => [name, mend]));
  if (outputs.report !== undefined) writeFileSync(outputs.report, htmlReport(runs, mends));
  if (summaryFile !== undefined) appendFileSync(summaryFile, markdownSummary(runs));
  if (newest === undefined) return undefined;
  if (outputs.save !== undefined) {
    writeFileSync(outputs.save, `${JSON.stringify(baselineOf(newest), undefined, 2)}\n`);
  }
  return baseline === undefined ? undefined : compare(baseline, newest);
}

/** Scenarios run side by side: people look for them in the order of the table. */
function inOrder(story: RunStory): RunStory {
  const names: readonly string[] = SCENARIOS.map(({ name }) => name);
  return { ...story, scenarios: [...story.scenarios].sort((a, b) => names.indexOf(a.name) - names.indexOf(b.name)) };
}

/** The comparison as lines; empty where nothing differs. */
export function comparisonText({ regressions, repairs, notes }: Comparison): string {
  const lines = [
    ...regressions.map((one) => `worse:  ${one}`),
    ...repairs.map((one) => `better: ${one}`),
    ...notes.map((one) => `note:   ${one}`),
  ];
  return lines.map((line) => `${visible(line)}\n`).join('');
}

function readBaseline(file: string, wrong: (message: string) => never): Baseline {
  let text = '';
  try {
    text = readFileSync(file, 'utf8');
  } catch (failure) {
    wrong(`${file} cannot be read: ${(failure as Error).message}; a baseline is what --save wrote`);
  }
  const baseline = parseBaseline(text, file);
  return typeof baseline === 'string' ? wrong(baseline) : baseline;
}
