// The lives of one broker: at most one at a time, none after `stop`, and nothing left when our own process ends.
import type { BrokerNews, Fault } from '../model/fault-port.js';
import { asError, timerMs } from '../kernel/clock.js';
import { BrokerChild, type LifeEnd } from '../platform/process/broker-child.js';
import { programFile } from '../platform/process/program-file.js';
import { OutputTail } from '../platform/process/output-tail.js';
import { BrokerError, type Broker, type BrokerOptions, type ConfigInput } from './broker-api.js';
import { checkpointOf, pathsOf, removeRoot, writeConfig, type BrokerRoot } from './broker-root.js';

/** It promises to stop within 5 s. */
const STOP_MS = 15_000;
/** The exit code for a configuration that is wrong. */
const CONFIG_INVALID = 78;
/** Lines of the log that an error shows. */
const LINES_SHOWN = 10;
/** Marks the daemon in the list of processes. */
const MARK = 'PLUGIN_BROKER_LIBRARY';

/** The listener of lives. */
export interface LivesListener {
  readonly news: (news: BrokerNews) => void;
  readonly exit: (end: LifeEnd) => void;
}

/** Starts and ends a broker. */
export class Lives {
  readonly #root: BrokerRoot;
  readonly #options: BrokerOptions;
  readonly #tell: LivesListener;
  readonly #log = new OutputTail();
  readonly #onProcessExit = (): void => this.#abandon();
  #config: ConfigInput | string;
  #child: BrokerChild | undefined;
  #opened: (() => void) | undefined;
  /** Resolves when the life that was ended last is over. */
  #ending: Promise<void> = Promise.resolve();
  #line = '';
  #stopped: Promise<void> | undefined;
  #url: URL | undefined;

  constructor(root: BrokerRoot, options: BrokerOptions, tell: LivesListener) {
    this.#root = root;
    this.#options = options;
    this.#tell = tell;
    this.#config = options.config ?? {};
    process.once('exit', this.#onProcessExit);
  }

  /** Process id of the present life. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Whether there is a life, and none that is being ended. */
  get isRunning(): boolean {
    return this.#child !== undefined;
  }

  /** Whether `stop` was called. */
  get isStopped(): boolean {
    return this.#stopped !== undefined;
  }

  /** The end of its log. */
  get log(): string {
    return this.#log.text();
  }

  /** Where things are in the present life; between two, as in the one before. */
  get paths(): Broker['paths'] {
    return pathsOf(this.#root.root, this.#config);
  }

  /** Its checkpoint, where `paths` are. */
  get checkpoint(): string {
    return checkpointOf(this.#root.root, this.#config);
  }

  /** Where it serves HTTP. */
  get url(): URL | undefined {
    return this.#url;
  }

  /** Begins a life and waits until plugins can come in. @throws BrokerError */
  async start({ bootId, config }: Pick<BrokerOptions, 'bootId' | 'config'> = {}): Promise<void> {
    if (this.isStopped) throw new BrokerError('NOT_RUNNING', 'the broker was stopped for good');
    if (this.#child !== undefined) throw new BrokerError('START_FAILED', 'the broker runs already');
    if (config !== undefined) this.#config = config;
    const { root, isTemporary } = this.#root;
    const boot = bootId ?? this.#options.bootId;
    const child = new BrokerChild({
      program: [process.execPath, programFile()],
      args: [
        ...['--root', root, '--config', writeConfig(this.#root, this.#config)],
        ...(boot === undefined ? [] : ['--boot-id', boot]),
        ...(isTemporary ? ['--temporary'] : []),
      ],
      env: { ...process.env, NODE_OPTIONS: '', [MARK]: root },
      isDetached: true,
      onNews: (news) => this.#told(child, news),
      onLog: (chunk) => this.#wrote(chunk),
    });
    this.#child = child;
    void child.ended.then((end) => this.#ended(child, end));
    const opened = new Promise<'opened'>((resolve) => (this.#opened = () => resolve('opened')));
    child.order([]);
    const end = await this.#inTime(Promise.race([opened, child.ended]));
    if (end !== 'opened') throw this.#whyNotStarted(end);
    // From here on it is there for us, and not we for it.
    child.unref();
  }

  /** Ends the present life; one that is ending already is waited for. */
  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const child = this.#child;
    if (child === undefined) return this.#ending;
    this.#child = undefined;
    this.#url = undefined;
    child.ref();
    const stopped = child.stop(signal, STOP_MS);
    this.#ending = stopped.then(() => undefined);
    if (!(await stopped))
      throw new BrokerError('EXITED', `the broker did not end within ${STOP_MS / 1000} s of ${signal}`);
  }

  /** Ends it for good and removes our files. */
  stop(): Promise<void> {
    this.#stopped ??= this.end('SIGTERM').finally(() => {
      process.off('exit', this.#onProcessExit);
      removeRoot(this.#root);
    });
    return this.#stopped;
  }

  /** Orders faults. @throws BrokerError when it does not run */
  order(faults: readonly Fault[]): void {
    if (this.#child === undefined) throw new BrokerError('NOT_RUNNING', 'the broker does not run');
    this.#child.order(faults);
  }

  async #inTime<T>(waited: Promise<T>): Promise<T> {
    const { timeoutMs = DEFAULT_TIMEOUT_MS, signal } = this.#options;
    let timer: NodeJS.Timeout | undefined;
    let onAbort: (() => void) | undefined;
    try {
      return await Promise.race([
        waited,
        new Promise<never>((_, reject) => {
          const late = `the broker did not serve within ${timeoutMs / 1000} s`;
          timer = setTimeout(
            () => reject(new BrokerError('START_FAILED', late, this.#lastLines())),
            timerMs(timeoutMs),
          );
          onAbort = () => reject(asError(signal?.reason));
          signal?.addEventListener('abort', onAbort, { once: true });
          if (signal?.aborted === true) onAbort();
        }),
      ]);
    } finally {
      clearTimeout(timer);
      if (onAbort !== undefined) signal?.removeEventListener('abort', onAbort);
    }
  }

  #whyNotStarted(end: LifeEnd | Error): BrokerError {
    if (end instanceof Error) return new BrokerError('START_FAILED', `the broker cannot be started: ${end.message}`);
    const lines = this.#lastLines();
    if (end.code === CONFIG_INVALID) return new BrokerError('CONFIG_INVALID', 'the configuration is wrong', lines);
    const how = end.signal === null ? `with code ${end.code ?? '?'}` : `by ${end.signal}`;
    return new BrokerError('START_FAILED', `the broker ended ${how} before it served`, lines);
  }

  #lastLines(): readonly string[] {
    const lines = this.log.split('\n').filter((line) => line !== '');
    return lines.slice(-LINES_SHOWN).map(messageOf);
  }

  #told(child: BrokerChild, news: BrokerNews): void {
    if (child !== this.#child) return;
    if (news.kind === 'http') {
      this.#url = news.address === undefined ? undefined : new URL(`http://${news.address}`);
      // The last that a start does: plugins can come in, and the address is known to whom the start is told.
      this.#opened?.();
    }
    this.#tell.news(news);
  }

  #ended(child: BrokerChild, end: LifeEnd | Error): void {
    if (child === this.#child) {
      this.#child = undefined;
      this.#url = undefined;
    }
    this.#tell.exit(end instanceof Error ? { code: null, signal: null } : end);
  }

  #wrote(chunk: Buffer): void {
    const { log = 'keep' } = this.#options;
    this.#log.take(chunk);
    if (log === 'inherit') process.stderr.write(chunk);
    const lines = (this.#line + chunk.toString()).split('\n');
    this.#line = lines.pop() ?? '';
    if (typeof log === 'function') for (const line of lines) log(line);
  }

  /** Our process ends on the spot. */
  #abandon(): void {
    this.#child?.process.kill('SIGKILL');
    removeRoot(this.#root);
  }
}

/** Of every wait, where nobody says otherwise. */
export const DEFAULT_TIMEOUT_MS = 10_000;

/** The message of a log line; the whole line where it is no JSON. */
function messageOf(line: string): string {
  try {
    const { msg } = JSON.parse(line) as { msg?: unknown };
    return typeof msg === 'string' ? msg : line;
  } catch {
    return line;
  }
}
