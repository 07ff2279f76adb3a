// `report FILE…`: a page, a summary or a comparison made of records that `verify --events` wrote.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Command } from 'commander';
import { visible } from '../../kernel/visible.js';
import { CliError, Ended, EXIT } from '../exit.js';
import type { Terminal } from '../terminal.js';
import type { RunStory } from '../../verify/report/runs.js';
import { withRunOutputs, type RunOutputs } from './run-outputs.js';

/** A larger file is no record: each scenario of a run is bounded. */
const LARGEST = 256 * 1024 * 1024;

/** Adds the command. */
export function addReport(program: Command, terminal: Terminal): void {
  withRunOutputs(program.command('report'))
    .argument('<file...>', 'records that verify --events wrote, the newest last')
    .summary('makes a report of one run of verify, or of several side by side')
    .description(
      'Reads the record of verify --events, and makes the same reports of it as verify itself at its end. Several records, such as those of several versions of a plugin, become one page.',
    )
    .action(async (files: readonly string[], outputs: RunOutputs) => {
      const { checkOutputs, comparisonText, writeOutputs } = await import('./verify-outputs.js');
      const checked = checkOutputs(outputs, 'report');
      const runs = await readRuns(files);
      const comparison = writeOutputs(runs, checked);
      const { countsOf, hasFailed } = await import('../../verify/report/runs.js');
      for (const story of runs) {
        const { passed, failed, skipped } = countsOf(story);
        terminal.write(`${visible(story.run.label)}: ${passed} passed, ${failed} failed, ${skipped} skipped\n`);
      }
      if (comparison !== undefined) terminal.write(comparisonText(comparison));
      const isBad = comparison === undefined ? runs.some(hasFailed) : comparison.regressions.length > 0;
      if (isBad) throw new Ended(EXIT.failed);
    });
}

async function readRuns(files: readonly string[]): Promise<readonly RunStory[]> {
  const [{ parseRecord, RecordProblem }, { runsOf }] = await Promise.all([
    import('../../verify/record.js'),
    import('../../verify/report/runs.js'),
  ]);
  return files.flatMap((file) => {
    try {
      const text = readFileSync(file, 'utf8');
      if (text.length > LARGEST) throw new RecordProblem(`${file} is too large for a record`);
      return runsOf(parseRecord(text, path.basename(file)));
    } catch (thrown) {
      if (thrown instanceof RecordProblem) throw new CliError(EXIT.usage, `report: ${thrown.message}`);
      throw new CliError(EXIT.usage, `report: ${file} cannot be read: ${(thrown as Error).message}`);
    }
  });
}
