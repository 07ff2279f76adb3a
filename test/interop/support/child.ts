import { spawn, type ChildProcess } from 'node:child_process';
import { eventually } from '../../support/eventually.js';
import type { Program } from './programs.js';

const ENDING_MS = 10_000;

/** A program that runs beside the test and is never left behind. */
export class Child {
  readonly #process: ChildProcess;
  readonly #name: string;
  readonly #ended: Promise<number | NodeJS.Signals>;
  #output = '';
  #errors = '';
  #status: number | NodeJS.Signals | undefined;

  constructor(program: Program, args: readonly string[]) {
    this.#name = [program.command, ...args].join(' ');
    this.#process = spawn(program.command, [...program.args, ...args], {
      env: { ...process.env, ...program.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#process.stdout?.on('data', (chunk: Buffer) => (this.#output += chunk.toString()));
    this.#process.stderr?.on('data', (chunk: Buffer) => (this.#errors += chunk.toString()));
    const kill = (): void => void this.#process.kill('SIGKILL');
    process.once('exit', kill);
    this.#ended = new Promise((resolve) => {
      this.#process.once('error', (error) => {
        this.#errors += error.message;
        this.#status = -1;
        resolve(-1);
      });
      this.#process.once('close', (code, signal) => {
        process.off('exit', kill);
        this.#status = signal ?? code ?? -1;
        resolve(this.#status);
      });
    });
  }

  /** The lines it has written to standard output so far. */
  get lines(): readonly string[] {
    return this.#output.split('\n').filter((line) => line !== '');
  }

  /** Everything that helps to see why a test failed. */
  get story(): string {
    const status = this.#status === undefined ? 'running' : `ended with ${String(this.#status)}`;
    return `${this.#name}: ${status}\nstdout:\n${this.#output}\nstderr:\n${this.#errors}`;
  }

  get pid(): number {
    return this.#process.pid ?? -1;
  }

  /** Waits until a line starts with `start`; gives the line. Fails at once when the program has ended without it. */
  async says(start: string): Promise<string> {
    let story = '';
    const line = await eventually(`${this.#name} says "${start}"`, () => {
      story = this.story;
      return (
        this.lines.find((candidate) => candidate.startsWith(start)) ?? (this.#status === undefined ? false : story)
      );
    }).catch((error: unknown) => {
      throw new Error(story, { cause: error });
    });
    if (line === story) throw new Error(`it never said "${start}": ${story}`);
    return line;
  }

  /** Sends a signal. */
  signal(name: NodeJS.Signals): void {
    this.#process.kill(name);
  }

  /** Waits for the end; gives the exit code or the signal. */
  end(): Promise<number | NodeJS.Signals> {
    return this.#ended;
  }

  /** Asks it to end with SIGTERM, insists after ten seconds; gives the exit code or the signal. */
  async stop(): Promise<number | NodeJS.Signals> {
    if (this.#status !== undefined) return this.#status;
    this.#process.kill('SIGTERM');
    const insist = setTimeout(() => this.#process.kill('SIGKILL'), ENDING_MS);
    try {
      return await this.#ended;
    } finally {
      clearTimeout(insist);
    }
  }
}
