// The broker of one rig: the real program as a child process, with a line to it on which it takes orders and tells news.
import type { BrokerNews, Fault } from '../model/fault-port.js';
import { BrokerChild, type LifeEnd } from '../platform/process/broker-child.js';
import type { Changes } from './changes.js';
import { MARK } from './leftovers.js';
import { OutputTail } from '../platform/process/output-tail.js';
import type { Directories } from './directories.js';
import { BrokerFault } from './verdict.js';

/** From its start until it serves; measured at 0.15 s, so that only a broken one or a machine on its knees needs more. */
const OPEN_MS = 20_000;
/** It promises to stop within 5 s. */
const STOP_MS = 15_000;

/** The parts of a broker's process. */
export interface BrokerProcessParts {
  /** The program and the arguments before its command: node and the bundle. */
  readonly program: readonly string[];
  readonly directories: Directories;
  readonly mark: string;
  readonly changes: Changes;
  readonly onNews: (news: BrokerNews) => void;
  /** A process of it is there, or has ended. */
  readonly span: (pid: number, is: 'up' | 'down', how: string) => void;
  /** It wrote to its log. */
  readonly wrote: (chunk: Buffer) => void;
}

/** How a broker is started. */
export interface BrokerStart {
  readonly faults?: readonly Fault[];
  readonly bootId?: string | undefined;
}

/** One broker that is started and stopped again and again. */
export class BrokerProcess {
  readonly #parts: BrokerProcessParts;
  #child: BrokerChild | undefined;
  #log = new OutputTail();
  #isEnding = false;
  #openedAt: number | undefined;

  constructor(parts: BrokerProcessParts) {
    this.#parts = parts;
  }

  /** Whether a process of it runs. */
  get isRunning(): boolean {
    return this.#child !== undefined;
  }

  /**
   * Starts it and waits until plugins can come in.
   *
   * @returns when that was, in epoch milliseconds
   * @throws BrokerFault when it does not come up
   */
  async start({ faults = [], bootId }: BrokerStart = {}): Promise<number> {
    const { program, directories, mark, changes } = this.#parts;
    const args = ['--config', directories.configFile, '--root', directories.own];
    if (bootId !== undefined) args.push('--boot-id', bootId);
    this.#isEnding = false;
    this.#openedAt = undefined;
    this.#log = new OutputTail();
    const child = new BrokerChild({
      program,
      args,
      env: { ...process.env, [MARK]: mark },
      isDetached: true,
      onNews: (news) => this.#told(news),
      onLog: (chunk) => {
        this.#log.take(chunk);
        this.#parts.wrote(chunk);
      },
    });
    this.#child = child;
    if (child.pid !== undefined) this.#parts.span(child.pid, 'up', '');
    void child.ended.then((end) => {
      if (end instanceof Error) changes.fail(new BrokerFault(`the broker cannot be started: ${end.message}`));
      else this.#ended(child, end);
    });
    this.order(faults);
    const openedAt = await changes.until(() => this.#openedAt, OPEN_MS);
    if (openedAt === undefined) throw new BrokerFault(`the broker was not ready ${OPEN_MS / 1000} s after its start`);
    return openedAt;
  }

  /** Orders faults, from now on. */
  order(faults: readonly Fault[]): void {
    this.#child?.order(faults);
  }

  /** Stops it as an operator does. @throws BrokerFault when it does not end */
  async stop(): Promise<void> {
    await this.#end('SIGTERM');
  }

  /** Kills it. @throws BrokerFault when it does not end */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** Kills it without waiting. */
  killNow(): void {
    this.#isEnding = true;
    this.#child?.process.kill('SIGKILL');
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    this.#isEnding = true;
    if (await child.stop(signal, STOP_MS)) return;
    throw new BrokerFault(`the broker did not end within ${STOP_MS / 1000} s of ${signal}`);
  }

  #told(news: BrokerNews): void {
    if (news.kind === 'phase' && news.phase !== 'stopping') this.#openedAt ??= news.at;
    this.#parts.onNews(news);
    this.#parts.changes.happened();
  }

  #ended(child: BrokerChild, { code, signal }: LifeEnd): void {
    if (this.#child === child) this.#child = undefined;
    const { changes, span } = this.#parts;
    const how = signal === null ? `with code ${code ?? '?'}` : `by ${signal}`;
    span(child.pid ?? -1, 'down', how);
    if (this.#isEnding) changes.happened();
    else {
      changes.fail(new BrokerFault(`the broker ended by itself ${how}: ${this.#log.lastLine()}`));
    }
  }
}
