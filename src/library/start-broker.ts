// `startBroker`: a broker of its own for a program, as a child process, with controls for tests.
import { timerMs } from '../kernel/clock.js';
import type { BrokerEvent } from '../model/event.js';
import type { Fault } from '../model/fault-port.js';
import type { ExplainView, LimitView, PluginView, ResourceView, StatusView } from '../model/views.js';
import { incarnationAt } from '../platform/fs/socket-pin.js';
import { replaceDirectory } from '../verify/registry-faults.js';
import { removePluginSockets, unlinkKubeletSocket } from '../verify/sockets.js';
import { bounds, EVENTS_SHOWN, lastEvents, matches, wanted } from './asking.js';
import {
  BrokerError,
  WaitError,
  type Broker,
  type BrokerEvents,
  type BrokerOptions,
  type EventFilter,
  type PluginMatch,
  type PluginRef,
  type Recording,
  type RefuseRule,
  type ResourceMatch,
  type RestartOptions,
  type WaitOptions,
} from './broker-api.js';
import { BrokerQuestions, meant } from './broker-questions.js';
import { makeRoot } from './broker-root.js';
import { BrokerWatch } from './broker-watch.js';
import { DEFAULT_TIMEOUT_MS, Lives } from './lives.js';
import { whenOnDisk } from './on-disk.js';
import { waitFor } from './waiting.js';

/** A list has to come on a stream that was broken. */
const LIST_MS = 5_000;

/**
 * Starts a broker of its own as a child process.
 *
 * @returns when plugins can come in
 * @throws BrokerError START_FAILED, CONFIG_INVALID, UNSUPPORTED; the signal's reason. Nothing is left behind then
 */
export async function startBroker(options: BrokerOptions = {}): Promise<Broker> {
  if (process.platform !== 'linux') throw new BrokerError('UNSUPPORTED', 'plugin-broker runs on Linux');
  options.signal?.throwIfAborted();
  const broker = new StartedBroker(options);
  try {
    await broker.start();
    return broker;
  } catch (failure) {
    await broker.stop();
    throw failure;
  }
}

class StartedBroker implements Broker {
  readonly root: string;
  readonly #options: BrokerOptions;
  readonly #lives: Lives;
  readonly #watch = new BrokerWatch();
  readonly #questions: BrokerQuestions;
  readonly #halt = new AbortController();
  readonly #onAbort = (): void => void this.stop().catch(() => undefined);
  readonly #timeoutMs: number;
  #isFollowed = false;
  #rules = 0;

  constructor(options: BrokerOptions) {
    const brokerRoot = makeRoot(options.root);
    [this.root, this.#options] = [brokerRoot.root, options];
    this.#timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.#questions = new BrokerQuestions(() => this.paths.adminSocket);
    this.#lives = new Lives(brokerRoot, options, {
      news: (news) => this.#watch.take(news),
      exit: (end) => this.#watch.ended(end),
    });
    options.signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  get paths(): Broker['paths'] {
    return this.#lives.paths;
  }

  get pid(): number | undefined {
    return this.#lives.pid;
  }

  get url(): URL | undefined {
    return this.#lives.url;
  }

  get log(): string {
    return this.#lives.log;
  }

  status(): Promise<StatusView> {
    return this.#questions.ask((admin) => admin.status(false));
  }

  plugins(name = ''): Promise<readonly PluginView[]> {
    return this.#questions.ask((admin) => admin.plugins(name));
  }

  resources(name = ''): Promise<readonly ResourceView[]> {
    return this.#questions.ask((admin) => admin.resources(name, false));
  }

  limits(name = ''): Promise<readonly LimitView[]> {
    return this.#questions.ask((admin) => admin.limits(name));
  }

  explain(subject: string, type = ''): Promise<ExplainView> {
    return this.#questions.ask((admin) => admin.explain(subject, type));
  }

  async pardon(plugin: PluginRef): Promise<void> {
    await this.#questions.ask((admin) => admin.pardon(meant(plugin)));
  }

  async deregister(plugin: PluginRef): Promise<void> {
    await this.#questions.ask((admin) => admin.deregister(meant(plugin)));
  }

  async forget(plugin: PluginRef): Promise<void> {
    await this.#questions.ask((admin) => admin.forget(meant(plugin)));
  }

  async *events({ timeoutMs, signal, ...filter }: EventFilter & WaitOptions = {}): AsyncGenerator<BrokerEvent> {
    const over = new AbortController();
    const timer = timeoutMs === undefined ? undefined : setTimeout(() => over.abort(), timerMs(timeoutMs));
    const ends = [over.signal, this.#halt.signal, ...(signal === undefined ? [] : [signal])];
    try {
      yield* this.#questions.events(filter, AbortSignal.any(ends));
    } finally {
      clearTimeout(timer);
      over.abort();
    }
  }

  on<K extends keyof BrokerEvents>(name: K, listener: (event: BrokerEvents[K]) => void): Disposable {
    const listening = this.#watch.on(name, listener);
    if (name === 'event' && !this.#isFollowed) {
      this.#isFollowed = true;
      void this.#follow();
    }
    return listening;
  }

  waitForResource(
    name: string,
    is: ResourceMatch = { state: 'ready' },
    options: WaitOptions = {},
  ): Promise<ResourceView> {
    const look = async (): Promise<ResourceView | undefined> =>
      (await this.resources()).find((resource) => resource.name === name && matches(resource, is));
    return this.#wait(`the resource ${name} is ${wanted(is)}`, name, look, options);
  }

  waitForPlugin(name: string, is: PluginMatch = { state: 'ready' }, options: WaitOptions = {}): Promise<PluginView> {
    const look = async (): Promise<PluginView | undefined> =>
      (await this.plugins()).find((plugin) => plugin.name === name && plugin.primary && matches(plugin, is));
    return this.#wait(`the plugin ${name} is ${wanted(is)}`, name, look, options);
  }

  async waitForEvent(filter: EventFilter, options: WaitOptions = {}): Promise<BrokerEvent> {
    const timeoutMs = options.timeoutMs ?? this.#timeoutMs;
    for await (const event of this.events({ ...filter, ...options, timeoutMs })) return event;
    options.signal?.throwIfAborted();
    throw await this.#inVain(
      this.#lives.isStopped ? 'NOT_RUNNING' : 'TIMEOUT',
      `no event ${JSON.stringify({ ...filter, message: filter.message?.source })} within ${timeoutMs / 1000} s`,
      filter.plugin,
    );
  }

  record(resource: string): Recording {
    return this.#watch.record(resource);
  }

  async stop(): Promise<void> {
    this.#options.signal?.removeEventListener('abort', this.#onAbort);
    this.#halt.abort();
    this.#questions.close();
    await this.#lives.stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  kill(): Promise<void> {
    return this.#lives.end('SIGKILL');
  }

  start(options: Pick<BrokerOptions, 'bootId' | 'config'> = {}): Promise<void> {
    return this.#lives.start(options);
  }

  async restart(how: 'clean' | 'kill' = 'clean', options: RestartOptions = {}): Promise<void> {
    const { wipeSockets = false, bootId, downMs = 0 } = options;
    if (how === 'kill') await whenOnDisk(this, this.#lives.checkpoint);
    await this.#lives.end(how === 'clean' ? 'SIGTERM' : 'SIGKILL');
    if (wipeSockets) removePluginSockets(this.paths, true);
    if (downMs > 0) await new Promise((resolve) => setTimeout(resolve, timerMs(downMs)));
    await this.#lives.start(bootId === undefined ? {} : { bootId });
  }

  async recreateKubeletSocket(): Promise<void> {
    const before = incarnationAt(this.paths.kubeletSocket)?.birthNs;
    unlinkKubeletSocket(this.paths);
    await this.#socketAfter(before);
  }

  async recreateDirectory(): Promise<void> {
    const before = incarnationAt(this.paths.kubeletSocket)?.birthNs;
    replaceDirectory(this.paths.devicePlugins);
    await this.#socketAfter(before);
  }

  async breakStreams(plugin?: PluginRef): Promise<void> {
    const open = new Set(plugin === undefined ? this.#watch.streams : this.#watch.streamsOf(meant(plugin)));
    if (plugin !== undefined && open.size === 0) {
      throw new BrokerError('NOT_FOUND', `${meant(plugin).name} has no open list stream`);
    }
    const failures: string[] = [];
    const callOff = this.#watch.onBroken(({ socket, failure }) => {
      open.delete(socket);
      if (failure !== undefined) failures.push(failure);
    });
    try {
      this.#lives.order([...open].map((socket) => ({ kind: 'stream-break', times: 1, listWithinMs: LIST_MS, socket })));
      await this.#until('the streams are open again', '', () => open.size === 0);
    } finally {
      callOff();
    }
    if (failures.length > 0) throw new BrokerError('EXITED', 'a stream was not opened again', failures);
  }

  refuse({ plugin = '', reason = 'FLOOD_REGISTER', times, forMs, retryAfterMs }: RefuseRule): Disposable {
    const again = retryAfterMs === undefined ? {} : { retryAfterMs };
    return this.#rule({ plugin, holdMs: 0, reason, ...again, ...bounds(times, forMs) });
  }

  delayAnswers(ms: number, plugin: PluginRef = ''): Disposable {
    const { name } = meant(plugin);
    return this.#rule({ plugin: name, holdMs: ms, reason: 'FLOOD_REGISTER', ...bounds(undefined, undefined) });
  }

  #rule(rule: Omit<Extract<Fault, { kind: 'rule' }>, 'kind' | 'id'>): Disposable {
    this.#rules += 1;
    const id = this.#rules;
    this.#lives.order([{ kind: 'rule', id, ...rule }]);
    return {
      [Symbol.dispose]: () => {
        // It has gone with a life that ended.
        if (this.#lives.isRunning) this.#lives.order([{ kind: 'lift', id }]);
      },
    };
  }

  async #follow(): Promise<void> {
    const known = await this.#questions.ask(lastEvents).catch(() => []);
    const since = (known.at(-1)?.seq ?? 0) + 1;
    for await (const event of this.events({ since })) this.#watch.tell('event', event);
  }

  async #socketAfter(before: string | undefined): Promise<void> {
    await this.#until('kubelet.sock is there again', '', () => {
      const now = incarnationAt(this.paths.kubeletSocket)?.birthNs;
      return now !== undefined && now !== before;
    });
  }

  async #until(what: string, subject: string, isSo: () => boolean): Promise<void> {
    await this.#wait(what, subject, () => Promise.resolve(isSo() ? true : undefined), {});
  }

  #wait<T>(what: string, subject: string, look: () => Promise<T | undefined>, options: WaitOptions): Promise<T> {
    const timeoutMs = options.timeoutMs ?? this.#timeoutMs;
    return waitFor(
      {
        look,
        onChange: (again) => this.#watch.onChange(again),
        isStopped: () => this.#lives.isStopped,
        inVain: (code) =>
          this.#inVain(
            code,
            code === 'TIMEOUT' ? `not within ${timeoutMs / 1000} s: ${what}` : `the broker was stopped before ${what}`,
            subject,
          ),
      },
      { ...options, timeoutMs },
    );
  }

  async #inVain(code: 'TIMEOUT' | 'NOT_RUNNING', message: string, subject: string | undefined): Promise<WaitError> {
    const explain =
      subject === undefined || subject === '' ? undefined : await this.explain(subject).catch(() => undefined);
    const last = explain?.events ?? (await this.#questions.ask(lastEvents).catch(() => []));
    return new WaitError(code, message, explain, last.slice(-EVENTS_SHOWN));
  }
}
