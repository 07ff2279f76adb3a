// Runs the plugin's command as its supervisor would: in a process group of its own, started again a second after it ends.
import { spawn, type ChildProcess, type ChildProcessByStdio } from 'node:child_process';
import type { Readable } from 'node:stream';
import type { Changes } from './changes.js';
import type { Command } from './command.js';
import { MARK, marked, signalTo, type Found } from './leftovers.js';
import { OutputTail } from '../platform/process/output-tail.js';
import { endOf, type Life, type Registered, type Subject } from './subject.js';

/** A command that ended is started again after this. */
const RESTART_MS = 1_000;
/** A process that was asked to end has this long; then it is killed. */
const KIND_MS = 5_000;
/** How long a killed process may take to be gone. */
const KILLED_MS = 5_000;
/** Ends that are kept: a plugin that ends at once does so once a second. */
const MAX_ENDS = 200;

/** The parts of a plugin's process. */
export interface PluginProcessParts {
  readonly command: Command;
  readonly env: NodeJS.ProcessEnv;
  /** Marks its processes; of all that are started side by side, each has its own. */
  readonly mark: string;
  readonly changes: Changes;
  /** For the timeline. */
  readonly note: (what: string) => void;
  /** A process of it is there, or has ended. */
  readonly span: (pid: number, is: 'up' | 'down', how: string) => void;
  /** It wrote something. */
  readonly wrote: (stream: 'out' | 'err', chunk: Buffer) => void;
}

/** One running command. */
export class PluginProcess implements Subject {
  readonly isOurs = true;
  readonly ends: Life[] = [];
  startedAt: number | undefined;
  problem: string | undefined;
  readonly #parts: PluginProcessParts;
  readonly #output = new OutputTail();
  #child: ChildProcess | undefined;
  #restart: NodeJS.Timeout | undefined;
  #isStopping = false;

  constructor(parts: PluginProcessParts) {
    this.#parts = parts;
  }

  get written(): number {
    return this.#output.total;
  }

  get isBetweenLives(): boolean {
    return this.#restart !== undefined;
  }

  start(): void {
    const { note, span, wrote } = this.#parts;
    this.#isStopping = false;
    const child = this.#spawned();
    if (child === undefined) return;
    this.#child = child;
    const startedAt = (this.startedAt = Date.now());
    const take = (stream: 'out' | 'err', chunk: Buffer): void => {
      this.#output.take(chunk);
      wrote(stream, chunk);
    };
    child.stdout.on('data', (chunk: Buffer) => take('out', chunk));
    child.stderr.on('data', (chunk: Buffer) => take('err', chunk));
    child.once('error', (failure) => {
      this.#child = undefined;
      this.#notStarted(failure);
    });
    if (child.pid !== undefined) {
      note(`started, pid ${child.pid}`);
      span(child.pid, 'up', '');
    }
    child.once('exit', (code, signal) => {
      this.#ended({
        pid: child.pid ?? -1,
        startedAt,
        endedAt: Date.now(),
        code: code ?? undefined,
        signal: signal ?? undefined,
      });
    });
  }

  async stop(kindMs = KIND_MS): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#restart);
    this.#restart = undefined;
    this.signal(undefined, 'SIGTERM');
    // One that was stopped by SIGSTOP takes its SIGTERM only now.
    this.signal(undefined, 'SIGCONT');
    if (await this.#allGone(kindMs)) return;
    this.killNow();
    await this.#allGone(KILLED_MS);
  }

  killNow(): void {
    this.#isStopping = true;
    clearTimeout(this.#restart);
    this.signal(undefined, 'SIGKILL');
  }

  /** Each of its processes gets it once: many take a second SIGTERM for an order to end at once. */
  signal(_registered: Registered | undefined, signal: NodeJS.Signals): boolean {
    const group = this.#child?.pid;
    const strays = this.#strays().filter((stray) => stray.group !== group);
    const sent = strays.map(({ pid }) => signalTo(pid, signal));
    return (group !== undefined && signalTo(-group, signal)) || sent.includes(true);
  }

  output(): string {
    return this.#output.text();
  }

  lastLine(): string {
    return this.#output.lastLine();
  }

  crashSince(written: number): string | undefined {
    return this.#output.crashSince(written);
  }

  /** Starts the process; undefined when the system refuses at once, as for a file that was replaced by a link to itself. */
  #spawned(): ChildProcessByStdio<null, Readable, Readable> | undefined {
    const { command, env, mark } = this.#parts;
    try {
      return spawn(command.file, command.args, {
        env: { ...env, [MARK]: mark },
        stdio: ['ignore', 'pipe', 'pipe'],
        detached: true,
      });
    } catch (failure) {
      this.#notStarted(failure as Error);
      return undefined;
    }
  }

  #notStarted({ message }: Error): void {
    this.problem = `the command cannot be started: ${message}`;
    this.#parts.changes.happened();
  }

  /** All processes with the mark, in any process group. */
  #strays(): readonly Found[] {
    return marked(`${this.#parts.mark}\0`);
  }

  #ended(life: Life): void {
    this.#child = undefined;
    const { changes, note, span } = this.#parts;
    span(life.pid, 'down', endOf(life));
    if (this.#isStopping) {
      note(`ended ${endOf(life)}, as it was asked to`);
      changes.happened();
      return;
    }
    if (this.ends.length < MAX_ENDS) this.ends.push(life);
    note(`ended by itself ${endOf(life)}`);
    this.#restart = setTimeout(() => {
      this.#restart = undefined;
      const [stray] = this.#strays();
      if (stray === undefined) this.start();
      else this.problem = detached(life, stray);
      changes.happened();
    }, RESTART_MS);
    changes.happened();
  }

  async #allGone(withinMs: number): Promise<boolean> {
    const until = Date.now() + withinMs;
    for (;;) {
      if (this.#child === undefined && this.#strays().length === 0) return true;
      if (Date.now() >= until) return false;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

function detached(life: Life, stray: Found): string {
  return `the command ended ${endOf(life)} and left process ${stray.pid} (${stray.command}) behind: it forks and detaches; give it the option that keeps it in the foreground, as a supervisor needs`;
}
