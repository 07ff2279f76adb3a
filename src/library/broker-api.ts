// The API for programs that start a broker (docs/library.md). Views are the shapes of `-o json`.
import type { BrokerEvent, EventType } from '../model/event.js';
import type { PluginState } from '../model/plugin.js';
import type { Reason, RefusalCode } from '../model/reasons.js';
import type { BrokerView, ExplainView, LimitView, PluginView, ResourceView, StatusView } from '../model/views.js';

/** The keys of the config file, checked alike (config/plugin-broker.schema.json). */
export type ConfigInput = Readonly<Record<string, unknown>>;
/** A plugin by name, or by type and name where types share it. */
export type PluginRef = string | { readonly type: string; readonly name: string };
/** Why something happened: a code of docs/reasons.md. New ones come with minor versions. */
export type ReasonCode = Reason | (string & {});

/** How a broker is started. */
export interface BrokerOptions {
  /** Its root directory. By default a temporary one, which `stop` removes. */
  readonly root?: string;
  /**
   * The keys of its config file, or the path of one. `http.listen` is off and CDI files are below the root, unless keys say
   * otherwise; a file is taken as it is.
   */
  readonly config?: ConfigInput | string;
  /** Pretends to be in this boot of the machine. */
  readonly bootId?: string;
  /** Where its log goes: kept (the last 64 KiB), which a failed wait shows; to our standard error; or line by line. */
  readonly log?: 'keep' | 'inherit' | ((line: string) => void);
  /** Of every wait, 10,000 ms unless said. */
  readonly timeoutMs?: number;
  /** Stops it, at any instant. */
  readonly signal?: AbortSignal;
}

/** Bounds of one wait. */
export interface WaitOptions {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** Selects events: members that are absent select all. */
export interface EventFilter {
  /** Number of the first one, 0 unless said. */
  readonly since?: number;
  readonly type?: EventType;
  readonly reason?: ReasonCode;
  /** `name` or `type/name`. */
  readonly plugin?: string;
  readonly message?: RegExp;
}

/** How a resource is to be. */
export type ResourceMatch =
  Partial<Pick<ResourceView, 'state' | 'capacity' | 'allocatable'>> | ((resource: ResourceView) => boolean);
/** How a plugin is to be. */
export type PluginMatch = Partial<Pick<PluginView, 'state' | 'reason' | 'type'>> | ((plugin: PluginView) => boolean);

/** The events of a broker. */
export interface BrokerEvents {
  readonly event: BrokerEvent;
  readonly phase: BrokerView['phase'];
  readonly exit: { readonly code: number | null; readonly signal: string | null };
}

/** Every value of one resource while it is open. */
export interface Recording extends Disposable {
  readonly samples: readonly {
    /** Epoch milliseconds. */
    readonly at: number;
    readonly capacity: number;
    readonly allocatable: number;
    /** `gone` where there is no such resource. */
    readonly state: PluginState;
  }[];
  /** The fewest allocatable devices so far; Infinity before there was any value. */
  readonly lowest: number;
}

/** Registrations that are refused. */
export interface RefuseRule {
  /** Name of the only plugin that is met. */
  readonly plugin?: string;
  /** FLOOD_REGISTER unless said. */
  readonly reason?: RefusalCode;
  /** So many at most. */
  readonly times?: number;
  /** None after so many milliseconds from the first. */
  readonly forMs?: number;
  /** When to come back, as the refusal says. */
  readonly retryAfterMs?: number;
}

/** How a broker comes back. */
export interface RestartOptions {
  /** Sockets of plugins are removed while it is down, as a kubelet does. */
  readonly wipeSockets?: boolean;
  readonly bootId?: string;
  /** How long it is down, at least. */
  readonly downMs?: number;
}

/** A broker that was started. Everything that asks it rejects with a BrokerError while it does not run. */
export interface Broker extends AsyncDisposable {
  readonly root: string;
  /** As the keys of the config of its present life say; of a config file those that a root has by default. */
  readonly paths: Readonly<Record<'devicePlugins' | 'kubeletSocket' | 'registry' | 'plugins' | 'adminSocket', string>>;
  /** Of the present life. */
  readonly pid: number | undefined;
  /** Where `http.listen` came to be, port 0 included; undefined while it is off or cannot be opened. */
  readonly url: URL | undefined;
  /** The end of its log, all lives together. */
  readonly log: string;
  status(): Promise<StatusView>;
  /** Plugins of a name, all without one. */
  plugins(name?: string): Promise<readonly PluginView[]>;
  resources(name?: string): Promise<readonly ResourceView[]>;
  limits(name?: string): Promise<readonly LimitView[]>;
  explain(subject: string, type?: string): Promise<ExplainView>;
  pardon(plugin: PluginRef): Promise<void>;
  deregister(plugin: PluginRef): Promise<void>;
  forget(plugin: PluginRef): Promise<void>;
  /** Events from the first one on, oldest first, across restarts, until it is stopped or the wait is over. */
  events(filter?: EventFilter & WaitOptions): AsyncIterable<BrokerEvent>;
  /** Listens from now on; an exception of a listener is lost. */
  on<K extends keyof BrokerEvents>(name: K, listener: (event: BrokerEvents[K]) => void): Disposable;
  /** Waits until a resource is as said, `ready` unless said. @throws WaitError */
  waitForResource(name: string, is?: ResourceMatch, options?: WaitOptions): Promise<ResourceView>;
  waitForPlugin(name: string, is?: PluginMatch, options?: WaitOptions): Promise<PluginView>;
  /** Resolves at once when it has happened already. @throws WaitError */
  waitForEvent(filter: EventFilter, options?: WaitOptions): Promise<BrokerEvent>;
  record(resource: string): Recording;

  /** Stops it for good and removes its temporary files. Idempotent, and safe while it starts. */
  stop(): Promise<void>;
  /** SIGKILL at this instant, which may be before a first list is on disk; `start` brings it back. */
  kill(): Promise<void>;
  start(options?: Pick<BrokerOptions, 'bootId' | 'config'>): Promise<void>;
  /**
   * Ends it and starts it again. `kill` is SIGKILL as soon as the served state is on disk, at most 2.5 s later: a restart is
   * tested for the promises made to plugins.
   */
  restart(how?: 'clean' | 'kill', options?: RestartOptions): Promise<void>;
  /** kubelet.sock goes and comes. */
  recreateKubeletSocket(): Promise<void>;
  /** The directory of kubelet.sock goes and comes, with all that was in it. */
  recreateDirectory(): Promise<void>;
  /** List streams end and are opened again, those of one plugin or all. */
  breakStreams(plugin?: PluginRef): Promise<void>;
  /** Until it is disposed of or used up. */
  refuse(rule: RefuseRule): Disposable;
  /** Registrations are answered so many milliseconds later, until it is disposed of. */
  delayAnswers(ms: number, plugin?: PluginRef): Disposable;
}

/** The kinds of BrokerErrors. */
export type BrokerErrorCode =
  | 'START_FAILED'
  | 'CONFIG_INVALID'
  | 'NOT_RUNNING'
  | 'NOT_FOUND'
  | 'AMBIGUOUS'
  | 'REFUSED'
  | 'EXITED'
  | 'TIMEOUT'
  | 'UNSUPPORTED';

/** An operation failed; `code` names the kind. */
export class BrokerError extends Error {
  override readonly name: string = 'BrokerError';
  readonly code: BrokerErrorCode;
  /** One sentence each: the problems of a configuration, or the last lines of the log. */
  readonly problems: readonly string[];

  constructor(code: BrokerErrorCode, message: string, problems: readonly string[] = []) {
    super([message, ...problems].join('\n'));
    this.code = code;
    this.problems = problems;
  }
}

/** A wait that ended without its condition; its message describes the actual state. */
export class WaitError extends BrokerError {
  override readonly name: string = 'WaitError';
  /** The broker's explanation. */
  readonly explain: ExplainView | undefined;
  /** The last events of it. */
  readonly events: readonly BrokerEvent[];

  constructor(
    code: BrokerErrorCode,
    message: string,
    explain: ExplainView | undefined,
    events: readonly BrokerEvent[],
  ) {
    const why =
      explain === undefined ? [] : [`${explain.subject} is ${explain.state} (${explain.reason}): ${explain.why}`];
    super(code, message, [...why, ...events.map(({ time, type, message: text }) => `${time}  ${type}  ${text}`)]);
    this.explain = explain;
    this.events = events;
  }
}
