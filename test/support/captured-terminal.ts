import { readCheckpoint } from '../../src/cli-checkpoint.js';
import { readConfig } from '../../src/cli-config.js';
import { run } from '../../src/cli/program.js';
import type { Terminal } from '../../src/cli/terminal.js';

/** A terminal that keeps what is written to it. */
export class CapturedTerminal implements Terminal {
  stdout = '';
  stderr = '';
  readonly isTerminal: boolean;
  readonly hasColours = false;
  readonly interrupt = new AbortController();

  constructor(isTerminal = false) {
    this.isTerminal = isTerminal;
  }

  write(text: string): void {
    this.stdout += text;
  }

  complain(line: string): void {
    this.stderr += `${line}\n`;
  }

  size(): { readonly columns: number; readonly rows: number } {
    return { columns: 80, rows: 24 };
  }

  now(): number {
    return Date.parse('2030-01-01T00:01:00Z');
  }

  interruption(): AbortSignal {
    return this.interrupt.signal;
  }
}

/** The parts that the program is given by its entry. */
export const programParts = { version: '0.0.0', readConfig, readCheckpoint, start: (): void => undefined };

/** Runs one command line within the test process: everything but the process itself is real. */
export async function runHere(
  args: readonly string[],
  terminal = new CapturedTerminal(),
): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }> {
  const code = await run(args, terminal, programParts);
  return { code, stdout: terminal.stdout, stderr: terminal.stderr };
}
