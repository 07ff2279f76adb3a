// The record of the present run: kept for the reports made at the end, and written as it happens.
import { appendFileSync, writeFileSync } from 'node:fs';
import type { RecordLine } from '../record.js';
import type { ScenarioResult } from '../verdict.js';
import { runsOf, type RunStory } from './runs.js';

/** Collects the lines of one run. The bounds of each scenario's record bound their number. */
export class RunRecord {
  readonly #lines: RecordLine[] = [];
  readonly #file: string | undefined;
  /** Why the file ends before the run did, in one sentence; undefined where it does not. */
  problem: string | undefined;

  /**
   * @param file takes each line as it comes; its former contents are replaced
   * @throws Error of the file system when the file cannot be written
   */
  constructor(file: string | undefined) {
    this.#file = file;
    if (file !== undefined) writeFileSync(file, '');
  }

  /** Takes a line. Never throws: the run goes on where the disk is full, and the file ends before the line that did not fit. */
  readonly write = (line: RecordLine): void => {
    this.#lines.push(line);
    if (this.#file === undefined || this.problem !== undefined) return;
    try {
      appendFileSync(this.#file, `${JSON.stringify(line)}\n`);
    } catch (failure) {
      this.problem = `the record ${this.#file} is not complete: ${(failure as Error).message}`;
    }
  };

  /** A scenario that was skipped before it began has a verdict all the same. */
  ended({ name, verdict, code, seconds, evidence }: ScenarioResult, isWarning: boolean): void {
    if (this.#lines.some((line) => line.kind === 'verdict' && line.s === name)) return;
    this.write({ kind: 'verdict', s: name, t: 0, verdict, code, seconds, evidence, at: [], warn: isWarning });
  }

  /** The lines so far, of one scenario or of all. */
  lines(scenario?: string): readonly RecordLine[] {
    return scenario === undefined ? this.#lines : this.#lines.filter((line) => 's' in line && line.s === scenario);
  }

  /** The observations so far, put together. */
  story(): RunStory {
    const [story] = runsOf(this.#lines);
    if (story === undefined) throw new Error('a record begins with its run');
    return story;
  }
}
