// The whole core over fakes: sockets, plugins and clock of a test's making, everything between them as in the daemon.
import { Core, type CorePorts } from '../../src/daemon/core.js';
import { quarantineBegan, quarantineEnded } from '../../src/daemon/quarantine.js';
import { Discovery } from '../../src/discovery/discovery.js';
import { withDeadline } from '../../src/kernel/clock.js';
import { silentLog } from '../../src/kernel/log.js';
import { noMetrics } from '../../src/kernel/metrics.js';
import { seededRandom } from '../../src/kernel/random.js';
import { DEVICE_PLUGIN } from '../../src/model/ids.js';
import type { Outcome } from '../../src/model/plugin.js';
import { GRPC_STATUS, type Refusal } from '../../src/model/reasons.js';
import type { PluginPolicy } from '../../src/model/settings.js';
import { ListAndWatchResponse } from '../../src/platform/wire/services/device-plugin.js';
import type { Instance } from '../../src/reconcile/instance.js';
import type { Change } from '../../src/reconcile/roster.js';
import { FakeClock } from './fake-clock.js';
import { FakeConnection, FakeFailure, PacedBy } from './fake-connection.js';
import { FakeSockets, type FakeSocket } from './fake-sockets.js';
import { RecordedEvents } from './recorders.js';
import { loadDefaults } from './test-settings.js';

const DEVICES = '/r/device-plugins';
const REGISTRY = '/r/plugins_registry';

/** A plugin process behind a socket. */
export interface FakeProcess {
  readonly socket: FakeSocket;
  readonly name: string;
  /** Accepts, and answers nothing. */
  isFrozen: boolean;
  /** Refuses GetDevicePluginOptions. */
  isBroken: boolean;
  /** Answers, and then cuts its connection. */
  isFickle: boolean;
  readonly connections: FakeConnection[];
  readonly notified: string[];
}

/** The core, its doors, and plugins. */
export class CoreWorld {
  readonly clock = new FakeClock();
  readonly sockets = new FakeSockets();
  readonly events = new RecordedEvents();
  readonly changes: Change[] = [];
  readonly transitions = new Set<string>();
  readonly core: Core;
  readonly discovery: Discovery;
  readonly processes = new Map<string, FakeProcess>();
  readonly buried = new Set<string>();
  readonly settings = loadDefaults('/r').settings;
  /** How long the flood policy keeps every process out that calls; undefined: it does not. */
  keptOutMs: number | undefined;
  policy: PluginPolicy = { ...loadDefaults('/r').policyFor(DEVICE_PLUGIN, 'example.com/x', ''), graceMs: 30_000 };

  constructor() {
    const { clock, sockets, settings } = this;
    this.core = new Core(this.#ports());
    this.core.roster.onChange(({ instance, before, reasonBefore }) => {
      const from = before ?? '[*]';
      this.changes.push({ instance, before, reasonBefore });
      if (from !== instance.state) this.transitions.add(`${from} --> ${instance.state}`);
    });
    this.discovery = new Discovery(
      {
        list: () => sockets.paths().filter((path) => path.startsWith(REGISTRY)),
        pin: sockets.open,
        keyAt: sockets.keyAt,
        isHidden: () => false,
      },
      {
        appeared: this.core.registrySockets.appeared,
        gone: this.core.registrySockets.gone,
        unusable: this.core.refusedAt,
        looked: () => this.core.lifecycle.checkPaths(),
      },
      clock,
      () => settings.discovery.rescanMs,
    );
  }

  /** A process that serves on a socket of its own, in the place of whatever is there. */
  start(file: string, name = 'example.com/x', door: 'register' | 'watcher' = 'register'): FakeProcess {
    const socket = this.sockets.put(`${door === 'register' ? DEVICES : REGISTRY}/${file}`);
    const process = { socket, name, isFrozen: false, isBroken: false, isFickle: false, connections: [], notified: [] };
    this.processes.set(socket.key, process);
    return process;
  }

  /** It calls Register. */
  register({ socket, name }: FakeProcess): Promise<Outcome> {
    const caller = { uid: 0, gid: 0, pid: Number(socket.incarnation.ino), startTime: '1', source: 'peercred' } as const;
    const call = { version: 'v1beta1', endpoint: socket.path.slice(DEVICES.length + 1), resourceName: name };
    return this.core.registerDoor.register(call, caller);
  }

  /** It sends a list on its newest stream. */
  async list({ connections }: FakeProcess, devices: number): Promise<void> {
    const ids = Array.from({ length: devices }, (_, at) => ({ id: String(at), health: 'Healthy' }));
    connections
      .at(-1)
      ?.streams.at(-1)
      ?.push(ListAndWatchResponse.encode({ devices: ids }));
    await this.clock.settle();
  }

  /** It ends its newest stream, or, with a status, its connection. */
  async end({ connections }: FakeProcess, status: number = GRPC_STATUS.OK): Promise<void> {
    connections.at(-1)?.streams.at(-1)?.finish({ status, details: 'ended' });
    await this.clock.settle();
  }

  /** It dies; its socket file stays unless it is removed. */
  async kill(process: FakeProcess): Promise<void> {
    process.socket.listener = undefined;
    await this.end(process, GRPC_STATUS.UNAVAILABLE);
  }

  /** A quarantine of the process begins, and its end. */
  quarantine({ name, socket }: FakeProcess, began: boolean): void {
    const pid = Number(socket.incarnation.ino);
    const offender = { uid: 0, gid: 0, pid, startTime: '1', source: 'peercred' } as const;
    const facts = { type: DEVICE_PLUGIN, name, uid: 0, lengthMs: 0, offenders: [offender], last: undefined };
    if (began) quarantineBegan(this.core, facts);
    else quarantineEnded(this.core, facts);
  }

  /** Puts an instance back as from a checkpoint. */
  restore({ socket, name }: FakeProcess, over: Partial<Instance> = {}): void {
    const { path, key } = socket;
    this.core.roster.restore({
      id: `${DEVICE_PLUGIN}/${name}@${key}`,
      type: DEVICE_PLUGIN,
      name,
      door: path.startsWith(REGISTRY) ? 'watcher' : 'register',
      socketPath: path,
      endpointPath: path,
      endpointAsSent: path,
      socketKey: key,
      endpointKey: key,
      versions: ['v1beta1'],
      seq: this.core.enrolments.nextSeq(),
      state: 'restored',
      reason: 'from-checkpoint',
      message: 'known from the checkpoint',
      stateSince: 0,
      registeredAt: 1,
      firstRegisteredAt: 1,
      version: 'v1beta1',
      caller: { uid: 0, gid: 0, pid: Number(socket.incarnation.ino), startTime: '1', source: 'peercred' },
      facts: {},
      isServing: true,
      isPresumed: false,
      listener: undefined,
      wasWatched: true,
      isHint: false,
      isConfirmed: false,
      isDurable: true,
      enrolment: undefined,
      counters: { registrations: 1, rejected: 0, updates: 0, coalesced: 0, disconnects: 0 },
      ...over,
    });
  }

  /** The start after a restart: bare connects, cue, everybody at once. */
  async open(): Promise<void> {
    await this.core.restart.noteAnswering();
    await this.core.restart.begin(this.core.lifecycle);
    this.discovery.start();
    await this.clock.settle();
  }

  of({ socket, name }: FakeProcess): Instance | undefined {
    return this.core.roster.get(`${DEVICE_PLUGIN}/${name}@${socket.key}`);
  }

  stateOf(process: FakeProcess): string {
    const instance = this.of(process);
    return instance === undefined ? 'unknown' : `${instance.state} ${instance.reason}`;
  }

  /** capacity and allocatable. */
  counts(name = 'example.com/x'): [number, number] | undefined {
    const found = this.core.resources().get(name);
    return found === undefined ? undefined : [found.capacity, found.allocatable];
  }

  /** Ends everything; then nothing is held and nothing waits. */
  async stop(): Promise<void> {
    this.discovery.stop();
    await this.core.stop();
    this.core.dispose();
    await this.clock.settle();
  }

  #ports(): CorePorts {
    const { clock, sockets, settings } = this;
    return {
      live: {
        settings,
        admission: settings.admission,
        liveness: settings.liveness,
        nameAllowed: () => true,
        policyFor: () => this.policy,
      },
      self: { uid: 0, pid: 0 },
      clock,
      random: seededRandom(3),
      log: silentLog,
      metrics: noMetrics,
      events: this.events,
      flood: { quarantined: () => this.#banned(), registration: () => ({ kind: 'pass' }) },
      openPacer: () => new PacedBy(),
      pin: (path) => sockets.open(path) ?? { problem: 'missing', detail: 'ENOENT' },
      keyAt: sockets.keyAt,
      realDirectory: (path) => path,
      listenerOf: ({ path }) => {
        const listener = sockets.at(path)?.listener;
        return listener === undefined ? { error: 'ECONNREFUSED' } : { gid: undefined, ...listener };
      },
      answers: (path) => Promise.resolve(sockets.at(path)?.listener !== undefined),
      dialler: { dial: ({ path }) => this.#connect(path) },
      registrationClient: {
        callerOf: () => undefined,
        getInfo: async ({ path }, limitMs, signal) => {
          const { name } = await this.#answer(path, limitMs, signal);
          return { type: DEVICE_PLUGIN, name, endpoint: '', supportedVersions: ['v1beta1'] };
        },
        notify: async ({ path }, error, limitMs, signal) => {
          const process = await this.#answer(path, limitMs, signal);
          process.notified.push(error ?? '');
        },
      },
      mover: { moveAside: () => true },
      decode: (raw) => {
        const { devices } = ListAndWatchResponse.decode(raw);
        const summary = { devices: devices.length, healthy: devices.length, duplicates: [] };
        return Promise.resolve({ ok: true, sha256: '', summary });
      },
      nextTurn: () => Promise.resolve(),
      handlers: [],
      persist: () => Promise.resolve(true),
      listApplied: () => undefined,
      isDeregistered: (key) => this.buried.has(key),
      closedBecause: () => undefined,
      restartSettled: () => undefined,
    };
  }

  #banned(): Refusal | undefined {
    const { keptOutMs } = this;
    if (keptOutMs === undefined) return undefined;
    return { code: 'QUARANTINED', message: 'it is kept out', retryAfterMs: keptOutMs };
  }

  #connect(path: string): FakeConnection {
    const connection = new FakeConnection();
    connection.answer = async (limitMs, signal) => {
      const process = await this.#answer(path, limitMs, signal);
      if (process.isBroken) throw new FakeFailure(GRPC_STATUS.INTERNAL, 'broken');
      return { preStartRequired: false, preferredAllocationAvailable: false };
    };
    const process = this.processes.get(this.sockets.keyAt(path) ?? '');
    process?.connections.push(connection);
    const onLost = connection.onLost.bind(connection);
    connection.onLost = (lost) => {
      onLost(lost);
      if (process?.isFickle === true) lost();
    };
    return connection;
  }

  /** The process at a path, if it answers. */
  #answer(path: string, limitMs: number, signal: AbortSignal): Promise<FakeProcess> {
    const socket = this.sockets.at(path);
    const process = this.processes.get(socket?.key ?? '');
    if (process === undefined || socket?.listener === undefined) {
      return Promise.reject(new FakeFailure(GRPC_STATUS.UNAVAILABLE, 'connect ECONNREFUSED'));
    }
    if (!process.isFrozen) return Promise.resolve(process);
    const late = (): Error => new FakeFailure(GRPC_STATUS.DEADLINE_EXCEEDED, 'no answer');
    return withDeadline(this.clock, limitMs, late, () => new Promise(() => undefined), signal);
  }
}
