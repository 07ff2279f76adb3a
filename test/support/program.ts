import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { distFile } from './dist.js';

/** How a program ended, and what it wrote. */
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A program that runs. */
export interface Running {
  readonly child: ChildProcessWithoutNullStreams;
  stdout(): string;
  stderr(): string;
  /** Resolves when it has ended and everything it wrote was read. */
  readonly ended: Promise<Ended>;
}

/** Starts `plugin-broker` with arguments, as a process of its own. It is killed when the test process ends. */
export function start(args: readonly string[], env: NodeJS.ProcessEnv = {}): Running {
  return startCommand(process.execPath, [distFile(), ...args], env);
}

/** Starts any command. */
export function startCommand(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Running {
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', 'pipe'] });
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
  const text = (chunks: readonly Buffer[]): string => Buffer.concat(chunks).toString();
  const ended = once(child, 'close').then((close: unknown[]): Ended => {
    process.off('exit', kill);
    const [code, signal] = close as [number | null, NodeJS.Signals | null];
    return { code, signal, stdout: text(stdout), stderr: text(stderr) };
  });
  return { child, stdout: () => text(stdout), stderr: () => text(stderr), ended };
}

/** Runs `plugin-broker` to its end. */
export function run(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
  return start(args, env).ended;
}
