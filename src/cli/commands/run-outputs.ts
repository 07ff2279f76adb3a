// The options of `verify` and `report` that name the files to be written about runs.
import type { Command } from 'commander';

/** Which files are wanted. */
export interface RunOutputs {
  readonly report?: string;
  readonly save?: string;
  readonly compare?: string;
  /** true stands for the file that GitHub names. */
  readonly summary?: string | true;
}

/** Adds --report, --save, --compare and --summary. */
export function withRunOutputs(command: Command): Command {
  return command
    .option('--report <file>', 'write a report for a browser: one HTML file')
    .option('--save <file>', 'write the verdicts as a baseline for --compare')
    .option('--compare <file>', 'compare with a baseline, and end with 1 only where something got worse')
    .option('--summary [file]', 'append a summary in Markdown (default: the file in GITHUB_STEP_SUMMARY)');
}
