// The daemon as a child of the program that tests something against it: one life of it, where that is wanted with a line on
// which it takes orders and tells news (src/model/fault-port.ts). `verify`, the library and the tests start it here.
import { spawn, type ChildProcess } from 'node:child_process';
import type { Alarm } from '../../kernel/clock.js';
import type { BrokerNews, Fault, FaultOrder } from '../../model/fault-port.js';
import { systemClock } from '../time/system-clock.js';

/** How a life ended. */
export interface LifeEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** The parts of a life. */
export interface BrokerChildParts {
  /** The program and the arguments before its command: node and the bundle. */
  readonly program: readonly string[];
  /** Arguments of `serve`. */
  readonly args: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  /** With it the child is src/serve-under-test.ts and has the line; it ends by itself when we are gone. */
  readonly onNews?: (news: BrokerNews) => void;
  /** It wrote to its log. */
  readonly onLog: (chunk: Buffer) => void;
  /** In a process group of its own: Ctrl-C at the terminal does not reach it. */
  readonly isDetached?: boolean;
}

/** One life of a daemon. */
export class BrokerChild {
  readonly process: ChildProcess;
  /** How it ended; with an error where it could not be started. */
  readonly ended: Promise<LifeEnd | Error>;
  #end: LifeEnd | Error | undefined;

  constructor({ program, args, env, onNews, onLog, isDetached = false }: BrokerChildParts) {
    const [file = '', ...before] = program;
    const hasLine = onNews !== undefined;
    this.process = spawn(file, [...before, hasLine ? 'serve-under-test' : 'serve', ...args], {
      stdio: ['ignore', 'ignore', 'pipe', ...(hasLine ? (['ipc'] as const) : [])],
      detached: isDetached,
      ...(env === undefined ? {} : { env }),
    });
    this.process.stderr?.on('data', onLog);
    if (hasLine) this.process.on('message', (news) => onNews(news as BrokerNews));
    this.ended = new Promise((resolve) => {
      const over = (end: LifeEnd | Error): void => {
        this.#end ??= end;
        resolve(this.#end);
      };
      this.process.once('error', over);
      this.process.once('exit', (code, signal) => over({ code, signal }));
    });
  }

  /** Undefined where it could not be started. */
  get pid(): number | undefined {
    return this.process.pid;
  }

  /** How it ended; undefined while it runs. */
  get end(): LifeEnd | Error | undefined {
    return this.#end;
  }

  /** Orders faults, from now on. The broker begins with its first order: no plugin is served before. */
  order(faults: readonly Fault[]): void {
    const order: FaultOrder = { faults };
    this.process.send(order, () => undefined);
  }

  /** Does not keep our process alive any more. */
  unref(): void {
    this.process.unref();
    this.process.channel?.unref();
    (this.process.stderr as { unref?: () => void } | null)?.unref?.();
  }

  /** Keeps our process alive. */
  ref(): void {
    this.process.ref();
    this.process.channel?.ref();
    (this.process.stderr as { ref?: () => void } | null)?.ref?.();
  }

  /**
   * Sends a signal and waits for the end.
   *
   * @param withinMs then it is killed, which is not waited for
   * @returns whether it ended in time
   */
  async stop(signal: NodeJS.Signals, withinMs: number): Promise<boolean> {
    if (this.#end !== undefined) return true;
    let alarm: Alarm | undefined;
    const late = new Promise<'late'>((resolve) => (alarm = systemClock.alarm(withinMs, () => resolve('late'))));
    this.process.kill(signal);
    const first = await Promise.race([this.ended, late]);
    alarm?.cancel();
    if (first !== 'late') return true;
    this.process.kill('SIGKILL');
    return false;
  }
}
