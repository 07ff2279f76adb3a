// Runs `plugin-broker verify` as its users do, and looks whether anything of it is left behind.
import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { distFile } from './dist.js';
import { eventually } from './eventually.js';
import { start, type Running } from './program.js';
import { tempDir } from './temp-dir.js';

/** One scenario in the answer of `-o json`. */
export interface VerifiedScenario {
  readonly name: string;
  readonly verdict: string;
  readonly seconds: number;
  readonly evidence: string;
}

/** How a run ended. */
export interface Verified {
  readonly code: number | null;
  readonly scenarios: readonly VerifiedScenario[];
  readonly junit: string;
  readonly stdout: string;
  readonly stderr: string;
}

/** The command of a simulated plugin with options of its own and a socket for each instance. */
export function simCommand(...options: readonly string[]): readonly string[] {
  const sim = [process.execPath, distFile(), 'sim', 'device', '--dir', '{devicePlugins}', '--registry', '{registry}'];
  return [...sim, '--socket-name', 'sim-{pid}.sock', ...options];
}

/** A command as one line for a shell, whatever is in the paths of it. */
export function inShell(command: readonly string[]): string {
  return command.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
}

/** A run with a temporary directory and a mark of its own. */
export class VerifyRun {
  readonly running: Running;
  readonly folder = tempDir();
  readonly #mark = randomUUID();

  constructor(options: readonly string[], command: readonly string[], env: NodeJS.ProcessEnv = {}) {
    const args = ['verify', ...options, ...(command.length === 0 ? [] : ['--', ...command])];
    this.running = start(args, { ...env, TMPDIR: this.folder, VERIFY_TEST_MARK: this.#mark });
  }

  /** Processes that it started and that still live. */
  get processes(): readonly string[] {
    return readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && isMarked(pid, this.#mark));
  }

  /** Waits until a scenario other than the trial, which comes first, has its processes. */
  async inScenario(): Promise<void> {
    const [trial] = await eventually('the trial has begun', () => this.files.length > 0 && this.files);
    await eventually('the scenario has begun', () => this.files.some((name) => name !== trial), { withinMs: 30_000 });
    await eventually('broker and plugin run', () => this.processes.length >= 3, { withinMs: 30_000 });
  }

  /** Files that it left in its temporary directory. */
  get files(): readonly string[] {
    return readdirSync(this.folder);
  }
}

/** Runs it to its end with `-o json` and `--junit`. */
export async function verified(
  options: readonly string[],
  command: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<Verified> {
  const report = path.join(tempDir(), 'junit.xml');
  const run = new VerifyRun(['-o', 'json', '--junit', report, ...options], command, env);
  const { code, stdout, stderr } = await run.running.ended;
  const answer = stdout === '' ? { scenarios: [] } : (JSON.parse(stdout) as Pick<Verified, 'scenarios'>);
  const junit = existsSync(report) ? readFileSync(report, 'utf8') : '';
  return { code, ...answer, junit, stdout, stderr };
}

function isMarked(pid: string, mark: string): boolean {
  try {
    if (/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'latin1'))) return false;
    return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(mark);
  } catch {
    return false; // it has ended meanwhile, or is somebody else's
  }
}
