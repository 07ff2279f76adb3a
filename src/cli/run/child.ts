// The process that uses the devices of `run`. It must not outlive `run`, to which the lease is bound: else it would use
// devices that somebody else is given. So the kernel is asked to kill it when `run` dies, through setpriv(1).
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { constants } from 'node:os';
import { isatty } from 'node:tty';
import { ifPossible } from '../../kernel/if-possible.js';
import { CliError, EXIT } from '../exit.js';
import { commandPath } from './command-path.js';

/** Signals that are passed on as they come. */
const PASSED = ['SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGCONT'] as const;
/** Signals that a terminal sends to all processes of its foreground group: the command has them already. */
const FROM_TERMINAL = ['SIGINT', 'SIGQUIT'] as const;

/** A running command. */
export class Child {
  /**
   * Its exit code, or 128 and the number of the signal that ended it, as a shell reports it. Rejects with CliError when it cannot
   * be started.
   */
  readonly ended: Promise<number>;
  readonly #process: ChildProcess;
  readonly #passers = new Map<NodeJS.Signals, () => void>();

  /**
   * Starts a command with its own environment beside ours, on our terminal.
   *
   * @throws CliError as commandPath, and when it cannot be started
   */
  constructor(command: string, args: readonly string[], envs: ReadonlyMap<string, string>) {
    const file = commandPath(command);
    const tie = setpriv();
    const words = tie === undefined ? [file, ...args] : [tie, '--pdeathsig', 'KILL', '--', file, ...args];
    const [program = file, ...rest] = words;
    const env = { ...process.env, ...Object.fromEntries(envs) };
    try {
      this.#process = spawn(program, rest, { stdio: 'inherit', env });
    } catch (failure) {
      throw cannotRun(file, failure); // of some reasons spawn says so at once, as of variables that are too long
    }
    this.ended = this.#untilEnded(file);
    const isInteractive = isatty(0) || isatty(1) || isatty(2);
    for (const signal of PASSED) this.#listen(signal, () => this.#process.kill(signal));
    for (const signal of FROM_TERMINAL) {
      this.#listen(signal, () => {
        if (!isInteractive) this.#process.kill(signal);
      });
    }
  }

  #untilEnded(file: string): Promise<number> {
    const ended = new Promise<number>((resolve, reject) => {
      // A signal that may not be sent (the command is sudo) is an error, too, and the command goes on with its devices.
      this.#process.on('error', (failure) => {
        if (this.#process.pid === undefined) reject(cannotRun(file, failure));
      });
      this.#process.once('exit', (code, signal) =>
        resolve(signal === null ? (code ?? 0) : 128 + constants.signals[signal]),
      );
    });
    return ended.finally(() => {
      for (const [signal, passer] of this.#passers) process.off(signal, passer);
    });
  }

  #listen(signal: NodeJS.Signals, passer: () => void): void {
    this.#passers.set(signal, passer);
    process.on(signal, passer);
  }
}

function cannotRun(file: string, failure: unknown): CliError {
  return new CliError(EXIT.cannotRun, `${file} cannot be run: ${(failure as Error).message}`);
}

/** A setpriv that can tie a process to its parent; that of BusyBox cannot. */
function setpriv(): string | undefined {
  return ifPossible(() => {
    const file = commandPath('setpriv');
    return spawnSync(file, ['--help'], { encoding: 'utf8' }).stdout.includes('--pdeathsig') ? file : undefined;
  });
}
