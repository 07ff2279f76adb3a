// The whole core over fakes: sockets, plugins and clock of a test's making, everything between them as in the daemon.
import { Core, type CorePorts } from '../../src/daemon/core.js';
import { subscribe } from '../../src/daemon/subscriptions.js';
import { Discovery } from '../../src/discovery/discovery.js';
import { withDeadline } from '../../src/kernel/clock.js';
import { noMetrics, silentLog } from './silence.js';
import { seededRandom } from './seeded-random.js';
import { DEVICE_PLUGIN, incarnationKey } from '../../src/model/ids.js';
import type { Outcome, PinnedSocket } from '../../src/model/plugin.js';
import { GRPC_STATUS, type Refusal } from '../../src/model/reasons.js';
import { Inventory } from '../../src/inventory/inventory.js';
import { Roster } from '../../src/reconcile/roster.js';
import type { RestartOutcome } from '../../src/reconcile/restart.js';
import type { PluginPolicy, Settings } from '../../src/model/settings.js';
import { ListAndWatchResponse } from '../../src/generated/proto/deviceplugin/v1beta1/deviceplugin.js';
import { isLive, isReplaced, type Change, type Instance } from '../../src/model/instance.js';
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

/** Settings whose `restart` a test may change. */
function mutableRestart(settings: Settings): Settings {
  return { ...settings, restart: { ...settings.restart } };
}

/** The core, its doors, and plugins. */
export class CoreWorld {
  readonly clock: FakeClock;
  readonly sockets: FakeSockets;
  readonly events = new RecordedEvents();
  readonly changes: Change[] = [];
  /** The outcomes that were told when all of the checkpoint had been heard of. */
  readonly settled: RestartOutcome[] = [];
  readonly transitions = new Set<string>();
  readonly core: Core;
  readonly discovery: Discovery;
  readonly processes: Map<string, FakeProcess>;
  /** Sockets that the broker removed, and where they were. */
  readonly removed: Map<string, FakeSocket>;
  readonly kept = {
    remove: ({ path, incarnation }: PinnedSocket): string | undefined => {
      const socket = this.sockets.at(path);
      if (socket?.key !== incarnationKey(incarnation)) return 'another socket is at its path';
      this.sockets.remove(path);
      this.removed.set(socket.key, socket);
      return undefined;
    },
    putBack: (key: string): boolean => {
      const socket = this.removed.get(key);
      this.removed.delete(key);
      if (socket?.listener === undefined || this.sockets.at(socket.path) !== undefined) return false;
      this.sockets.link(socket.path, socket);
      return true;
    },
    discard: (key: string): void => void this.removed.delete(key),
  };
  /** Incarnations that operators keep out; as on disk, they outlast a life of the broker. */
  readonly tombstones: Set<string>;
  readonly settings = mutableRestart(loadDefaults('/r').settings);
  /** How long the flood policy keeps every process out that calls; undefined: it does not. */
  keptOutMs: number | undefined;
  policy: PluginPolicy = { ...loadDefaults('/r').policyFor(DEVICE_PLUGIN, 'example.com/x', ''), graceMs: 30_000 };

  /** @param before an earlier life of the broker, whose machine this one is on */
  constructor(before?: CoreWorld) {
    this.clock = before?.clock ?? new FakeClock();
    this.sockets = before?.sockets ?? new FakeSockets();
    this.processes = before?.processes ?? new Map<string, FakeProcess>();
    this.removed = before?.removed ?? new Map<string, FakeSocket>();
    this.tombstones = before?.tombstones ?? new Set<string>();
    if (before !== undefined) this.policy = before.policy;
    const { clock, sockets, settings } = this;
    this.core = new Core(this.#ports());
    subscribe({ core: this.core });
    this.core.roster.listeners.follow({
      changed: (change) => {
        const from = change.before ?? '[*]';
        this.changes.push(change);
        if (from !== change.to.state) this.transitions.add(`${from} --> ${change.to.state}`);
      },
    });
    this.discovery = new Discovery(
      {
        expected: () => [],
        follow: () => ({ isOther: false }),
        list: () => sockets.paths().filter((path) => path.startsWith(REGISTRY)),
        pin: sockets.open,
        keyAt: sockets.keyAt,
        ownerOf: () => 0,
        isHidden: () => false,
        topOf: (path) => path,
      },
      {
        appeared: this.core.registrySockets.appeared,
        gone: this.core.registrySockets.gone,
        renamed: this.core.registrySockets.renamed,
        recorder: this.core.recorder,
        full: () => undefined,
        looked: () => this.core.lifecycle.checkPaths(),
      },
      clock,
      () => ({ ...settings.discovery, isTrusted: () => true }),
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
    const fault = status === GRPC_STATUS.OK ? undefined : ('unreachable' as const);
    connections.at(-1)?.streams.at(-1)?.finish({ status, details: 'ended', fault });
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
    if (began) this.core.quarantineResponse.quarantineBegan(facts);
    else this.core.quarantineResponse.quarantineEnded(facts);
  }

  /** An operator de-registers a plugin: its incarnations are closed, and kept out from now on. */
  deregister(name: string): void {
    for (const { socketKey } of this.core.operatorActions.closeAll(DEVICE_PLUGIN, name)) this.tombstones.add(socketKey);
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
      seq: this.core.roster.nextSeq(),
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
      isAway: false,
      isDurable: true,
      enrolment: undefined,
      counters: { registrations: 1, rejected: 0, updates: 0, coalesced: 0, disconnects: 0 },
      ...over,
    });
  }

  /** The start after a restart: bare connects, kubelet.sock, everybody at once. */
  async open(): Promise<void> {
    await this.core.restart.noteAnswering();
    await this.core.restart.begin();
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
    const found = this.core.offered.all().get(name);
    return found === undefined ? undefined : [found.capacity, found.allocatable];
  }

  /** The broker dies and starts again on what its checkpoint had. The world of before is over. */
  async reborn(): Promise<CoreWorld> {
    const kept = new Map(this.removed);
    const entries = [...this.core.roster.all()]
      .filter((one) => one.registeredAt > 0 && (isLive(one) || isReplaced(one)))
      .sort((a, b) => a.seq - b.seq)
      .map((one) => ({ instance: { ...one }, list: this.core.inventory.holding(one.id) }));
    await this.stop();
    for (const [key, socket] of kept) this.removed.set(key, socket);
    const next = new CoreWorld(this);
    for (const { instance, list } of entries) {
      if (list !== undefined) next.core.inventory.restore(list);
      const isFallback = isReplaced(instance);
      next.core.roster.restore({
        ...instance,
        seq: next.core.roster.nextSeq(),
        state: isFallback ? 'held' : 'restored',
        reason: isFallback ? 'replaced' : 'from-checkpoint',
        isServing: !isFallback && list !== undefined,
        wasWatched: true,
        isConfirmed: false,
        listener: undefined,
        enrolment: undefined,
      });
    }
    await next.open();
    return next;
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
      userOf: (uid) => uid,
      namesMove: () => false,
      clock,
      random: seededRandom(3),
      log: silentLog,
      metrics: noMetrics,
      events: this.events,
      roster: new Roster(clock, { ownUid: 0, userOf: (uid) => uid }),
      inventory: new Inventory({
        decode: (raw) => {
          const { devices } = ListAndWatchResponse.decode(raw);
          const summary = { devices: devices.length, healthy: devices.length, duplicates: [] };
          return Promise.resolve({ ok: true, sha256: '', summary });
        },
        live: settings,
        metrics: noMetrics,
      }),
      flood: {
        quarantined: () => this.#banned(),
        registration: () => ({ kind: 'pass' }),
        openPacer: () => new PacedBy(),
      },
      sockets: {
        pin: (path) => sockets.open(path) ?? { problem: 'missing', detail: 'ENOENT' },
        keyAt: sockets.keyAt,
        realDirectory: (path) => path,
        listenerOf: ({ incarnation }) => {
          const listener = this.processes.get(incarnationKey(incarnation))?.socket.listener;
          return listener === undefined ? { error: 'ECONNREFUSED' } : { gid: undefined, ...listener };
        },
        answers: (path) => Promise.resolve(sockets.at(path)?.listener !== undefined),
      },
      dialler: { dial: ({ incarnation }) => this.#connect(incarnationKey(incarnation)) },
      registrationClient: {
        open: ({ incarnation }, signal) => ({
          caller: () => undefined,
          getInfo: async (limitMs) => {
            const { name } = await this.#answer(incarnationKey(incarnation), limitMs, signal);
            return { type: DEVICE_PLUGIN, name, endpoint: '', supportedVersions: ['v1beta1'] };
          },
          notify: async (error, limitMs) => {
            const process = await this.#answer(incarnationKey(incarnation), limitMs, signal);
            process.notified.push(error ?? '');
          },
          close: () => undefined,
        }),
      },
      kept: this.kept,
      nextTurn: () => Promise.resolve(),
      handlers: [],
      store: {
        expect: () => undefined,
        persist: () => Promise.resolve(true),
        isKept: () => Promise.resolve(true),
        isDeregistered: (key) => this.tombstones.has(key),
      },
      restartListener: { settled: (outcome) => void this.settled.push(outcome) },
    };
  }

  #banned(): Refusal | undefined {
    const { keptOutMs } = this;
    if (keptOutMs === undefined) return undefined;
    return { code: 'QUARANTINED', message: 'it is kept out', retryAfterMs: keptOutMs };
  }

  #connect(key: string): FakeConnection {
    const connection = new FakeConnection();
    connection.answer = async (limitMs, signal) => {
      const process = await this.#answer(key, limitMs, signal);
      if (process.isBroken) throw new FakeFailure(GRPC_STATUS.INTERNAL, 'broken');
      return { preStartRequired: false, preferredAllocationAvailable: false };
    };
    const process = this.processes.get(key);
    process?.connections.push(connection);
    const onLost = connection.onLost.bind(connection);
    connection.onLost = (lost) => {
      onLost(lost);
      if (process?.isFickle === true) lost();
    };
    return connection;
  }

  /** The process behind a socket, if it answers. */
  #answer(key: string, limitMs: number, signal: AbortSignal): Promise<FakeProcess> {
    const process = this.processes.get(key);
    if (process?.socket.listener === undefined) {
      return Promise.reject(new FakeFailure(GRPC_STATUS.UNAVAILABLE, 'connect ECONNREFUSED', 'no-listener'));
    }
    if (!process.isFrozen) return Promise.resolve(process);
    const late = (): Error => new FakeFailure(GRPC_STATUS.DEADLINE_EXCEEDED, 'no answer', 'no-answer');
    return withDeadline(this.clock, limitMs, late, () => new Promise(() => undefined), signal);
  }
}
