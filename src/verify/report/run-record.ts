// The record of the run that is going on: kept for what is made of it at the end, and written as it happens.
import { appendFileSync, writeFileSync } from 'node:fs';
import type { RecordLine, RecordOf } from '../record.js';
import type { ScenarioResult } from '../verdict.js';
import { runsOf, type RunStory } from './runs.js';

/** Collects the lines of one run. Their number is bounded by what is recorded of each scenario. */
export class RunRecord {
  readonly #lines: RecordLine[] = [];
  readonly #file: string | undefined;
  #problem: string | undefined;

  /**
   * @param file takes each line as it comes; what was in it is replaced
   * @throws Error of the file system when the file cannot be written
   */
  constructor(run: Omit<RecordOf<'run'>, 'kind' | 'v'>, file: string | undefined) {
    this.#file = file;
    if (file !== undefined) writeFileSync(file, '');
    this.write({ kind: 'run', v: 1, ...run });
  }

  /** Why the file ends before the run did, in one sentence; undefined where it does not. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Takes a line. Never throws: the run goes on where the disk is full, and the file ends before the line that did not fit. */
  readonly write = (line: RecordLine): void => {
    this.#lines.push(line);
    if (this.#file === undefined || this.#problem !== undefined) return;
    try {
      appendFileSync(this.#file, `${JSON.stringify(line)}\n`);
    } catch (failure) {
      this.#problem = `the record ${this.#file} is not complete: ${(failure as Error).message}`;
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

  /** What was seen so far, put together. */
  story(): RunStory {
    const [story] = runsOf(this.#lines);
    if (story === undefined) throw new Error('a record begins with its run');
    return story;
  }
}
