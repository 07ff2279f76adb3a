import { eventually } from './eventually.js';
import { startCommand, type Running } from './program.js';

const ENDING_MS = 10_000;

/** A program with what it is always started with. */
export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** How a program ended: its exit code, the signal that ended it, or why it could not be started. */
export type Ending = number | string;

/** A program that runs beside a test and tells on standard output, line by line, what happens to it. */
export class Child {
  readonly #running: Running;
  readonly #name: string;
  readonly #ended: Promise<Ending>;
  #ending: Ending | undefined;

  constructor(program: Program, args: readonly string[]) {
    this.#name = [program.command, ...args].join(' ');
    this.#running = startCommand(program.command, [...program.args, ...args], program.env);
    this.#ended = this.#running.ended.then(
      ({ code, signal }) => signal ?? code ?? 'unknown',
      (error: unknown) => String(error),
    );
    void this.#ended.then((ending) => (this.#ending = ending));
  }

  /** The lines written to standard output so far. */
  get lines(): readonly string[] {
    return this.#running
      .stdout()
      .split('\n')
      .filter((line) => line !== '');
  }

  /** Everything that helps to see why a test failed. */
  get story(): string {
    const status = this.#ending === undefined ? 'running' : `ended with ${this.#ending}`;
    return `${this.#name}: ${status}\nstdout:\n${this.#running.stdout()}\nstderr:\n${this.#running.stderr()}`;
  }

  /** Waits until a line starts with `start`. Fails at once when the program has ended without it. */
  async says(start: string): Promise<void> {
    const isSaid = (): boolean => this.lines.some((line) => line.startsWith(start));
    await eventually(`"${start}"`, () => isSaid() || this.#ending !== undefined).catch(() => undefined);
    if (!isSaid()) throw new Error(`never said "${start}": ${this.story}`);
  }

  /** Sends a signal. */
  signal(name: NodeJS.Signals): void {
    this.#running.child.kill(name);
  }

  /** Waits for its end. */
  end(): Promise<Ending> {
    return this.#ended;
  }

  /** Asks it to end with SIGTERM and insists after ten seconds; gives how it ended. */
  async stop(): Promise<Ending> {
    if (this.#ending !== undefined) return this.#ending;
    this.signal('SIGTERM');
    const insist = setTimeout(() => this.signal('SIGKILL'), ENDING_MS);
    try {
      return await this.#ended;
    } finally {
      clearTimeout(insist);
    }
  }
}
