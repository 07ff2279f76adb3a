// The stage reconcile with everything around it faked: plugins whose every word a test decides.
import type { EnrolmentPorts } from '../../src/reconcile/enrolment.js';
import { Enrolments } from '../../src/reconcile/enrolment.js';
import type { Change, Instance } from '../../src/model/instance.js';
import type { Holding } from '../../src/model/device-list.js';
import { Endings } from '../../src/reconcile/endings.js';
import { Lifecycle } from '../../src/reconcile/lifecycle.js';
import { Reconciler } from '../../src/reconcile/reconciler.js';
import { RegistrationLane } from '../../src/reconcile/registration-lane.js';
import { Reports } from '../../src/reconcile/reports.js';
import { Roster } from '../../src/reconcile/roster.js';
import { resourcesOf } from '../../src/inventory/resources.js';
import type { Resource } from '../../src/model/device-list.js';
import { noMetrics, silentLog } from './silence.js';
import { seededRandom } from './seeded-random.js';
import { DEVICE_PLUGIN } from '../../src/model/ids.js';
import type {
  Accepted,
  Enrolment,
  InstanceHandle,
  InstanceReport,
  Outcome,
  PluginHandler,
  RegistrationRequest,
} from '../../src/model/plugin.js';
import { Refused, type Reason, type Refusal } from '../../src/model/reasons.js';
import type { AdmissionVerdict, Admitter } from '../../src/model/registration.js';
import { FakeClock } from './fake-clock.js';
import { FakeSockets, type FakeSocket } from './fake-sockets.js';
import { RecordedEvents } from './recorders.js';
import { loadDefaults } from './test-settings.js';

/** A handler that takes everybody in, or does what a test says instead. */
export class FakeHandler implements PluginHandler {
  readonly type: string;
  readonly coexist: boolean;
  serialBy: PluginHandler['serialBy'] = 'incarnation';
  /** Open sessions by instance id. */
  readonly sessions = new Map<string, InstanceHandle>();
  readonly registered: string[] = [];
  readonly renamedTo: [id: string, endpointPath: string][] = [];
  readonly deregistered: [id: string, reason: Reason][] = [];
  /** Runs inside register; what it throws refuses. */
  onRegister: (enrolment: Enrolment, handle: InstanceHandle, signal: AbortSignal) => Promise<void> | void = () =>
    undefined;

  constructor(type: string = DEVICE_PLUGIN, coexist = false) {
    this.type = type;
    this.coexist = coexist;
  }

  validate(): Refusal | undefined {
    return undefined;
  }

  async register(enrolment: Enrolment, handle: InstanceHandle, signal: AbortSignal): Promise<Accepted> {
    await this.onRegister(enrolment, handle, signal);
    if (signal.aborted) throw signal.reason;
    this.sessions.set(handle.id, handle);
    this.registered.push(handle.id);
    return { version: 'v1beta1', facts: {} };
  }

  isAlive(id: string): Promise<boolean> {
    return Promise.resolve(this.sessions.has(id));
  }

  renamed(id: string, endpointPath: string): void {
    this.renamedTo.push([id, endpointPath]);
  }

  deregister(id: string, reason: Reason): Promise<void> {
    this.sessions.delete(id);
    this.deregistered.push([id, reason]);
    return Promise.resolve();
  }
}

/** How the stage is set up. */
export interface WorldOptions {
  readonly handler?: FakeHandler;
  readonly admit?: Admitter['admit'];
  readonly persist?: EnrolmentPorts['store']['persist'];
  readonly isKept?: EnrolmentPorts['store']['isKept'];
  readonly graceMs?: number;
  readonly lossOf?: (instance: Instance) => InstanceReport | undefined;
}

/** Roster, enrolments, reconciler and lifecycle over fakes. */
export class ReconcileWorld {
  readonly clock = new FakeClock();
  /** Root's broker, to which each uid is a user. */
  readonly ownUid = 0;
  readonly userOf = (uid: number): number => uid;
  readonly sockets = new FakeSockets();
  /** Ordinary users may move names in the directories of sockets. */
  namesMove = false;
  readonly events = new RecordedEvents();
  /** Level and event of what was logged about enrolments. */
  readonly logged: string[] = [];
  readonly changes: { id: string; before: string; after: string; reason: string }[] = [];
  readonly handler: FakeHandler;
  readonly roster: Roster;
  readonly reconciler: Reconciler;
  readonly enrolments: Enrolments;
  readonly reports: Reports;
  readonly endings: Endings;
  readonly lifecycle: Lifecycle;
  /** Instances of which the kernel was asked who listens, in order. */
  readonly askedOf: string[] = [];
  readonly holdings = new Map<string, Holding>();
  readonly policy = { ...loadDefaults('/r').policyFor(DEVICE_PLUGIN, 'example.com/x', '') };
  readonly #never = new AbortController().signal;

  constructor(options: WorldOptions = {}) {
    const { clock, sockets } = this;
    this.handler = options.handler ?? new FakeHandler();
    const policy = { ...this.policy, graceMs: options.graceMs ?? this.policy.graceMs };
    this.policy = policy;
    const handlers = new Map<string, PluginHandler>([[this.handler.type, this.handler]]);
    this.roster = new Roster(clock, this);
    this.reconciler = new Reconciler({
      clock,
      random: seededRandom(7),
      log: silentLog,
      backoff: { firstMs: 500, maxMs: 30_000 },
    });
    const lists = { drop: (id: string) => void this.holdings.delete(id) };
    const endpoints = {
      isListening: ({ id, endpointPath, endpointKey }: Instance) => {
        this.askedOf.push(id);
        const socket = sockets.at(endpointPath);
        return socket?.key === endpointKey && socket.listener !== undefined;
      },
    };
    const { roster, reconciler } = this;
    this.endings = new Endings({ roster, reconciler, handlers, lists, endpoints });
    const settling = { lossOf: options.lossOf ?? (() => undefined) };
    this.reports = new Reports({ roster, handlers, endings: this.endings, endpoints, sockets, settling });
    this.enrolments = new Enrolments({
      admission: {
        admit: options.admit ?? ((request) => Promise.resolve(this.admit(request))),
        whereIs: ({ endpoint }) => endpoint,
      },
      handlers,
      roster: this.roster,
      lane: new RegistrationLane({ ownUid: 0, userOf: (uid) => uid }),
      store: {
        expect: () => undefined,
        persist: options.persist ?? (() => Promise.resolve(true)),
        isKept: options.isKept ?? (() => Promise.resolve(true)),
      },
      events: this.events,
      log: {
        ...silentLog,
        warn: (event) => void this.logged.push(`warn ${event}`),
        info: (event) => void this.logged.push(`info ${event}`),
      },
      metrics: noMetrics,
      clock,
      reports: this.reports,
      reconciler: this.reconciler,
    });
    this.lifecycle = new Lifecycle({
      roster: this.roster,
      reconciler: this.reconciler,
      handlers,
      enrolments: this.enrolments,
      clock,
      ownUid: this.ownUid,
      userOf: this.userOf,
      namesMove: () => this.namesMove,
      policies: { policyFor: () => policy },
      lists,
      endpoints,
      sockets,
      reports: this.reports,
      endings: this.endings,
    });
    this.roster.listeners.follow({ changed: (change) => this.#note(change) }, this.lifecycle);
  }

  /** Lets in a plugin that listens on the socket it names. */
  admit(request: RegistrationRequest): AdmissionVerdict {
    const file = this.sockets.at(request.endpoint);
    const no = (code: Refusal['code'], message: string) => ({ admitted: false as const, refusal: { code, message } });
    if (file === undefined) return no('ENDPOINT_MISSING', 'there is no socket');
    if (request.expected !== undefined && request.expected !== file.key) return no('SOCKET_SWAPPED', 'another one');
    if (file.listener === undefined) return no('NO_LISTENER', 'nobody listens');
    const endpoint = this.sockets.open(request.endpoint);
    if (endpoint === undefined) return no('ENDPOINT_MISSING', 'there is no socket');
    const socket = (request.socket ?? endpoint).retain();
    const uid = file.uid;
    const caller = { uid, gid: uid, pid: 1, startTime: '1', source: 'peercred' } as const;
    return {
      admitted: true,
      socket,
      endpoint,
      caller,
      listener: caller,
      policy: this.policy,
      recheck: () => undefined,
    };
  }

  /** A plugin calls Register. */
  register(
    socket: FakeSocket,
    { name = 'example.com/x', ...over }: Partial<RegistrationRequest> = {},
    signal: AbortSignal = this.#never,
  ): Promise<Outcome> {
    return this.enrolments.enrol(
      {
        door: 'register',
        pulled: false,
        type: this.handler.type,
        name,
        versions: ['v1beta1'],
        endpoint: socket.path,
        ...over,
      },
      signal,
    );
  }

  /** The instance that a socket registered. */
  of(socket: FakeSocket, name = 'example.com/x'): Instance | undefined {
    return this.roster.get(this.idOf(socket, name));
  }

  idOf(socket: FakeSocket, name = 'example.com/x'): string {
    return `${this.handler.type}/${name}@${socket.key}`;
  }

  /** state and reason of a socket's instance, as one string. */
  stateOf(socket: FakeSocket, name = 'example.com/x'): string {
    const instance = this.of(socket, name);
    return instance === undefined ? 'unknown' : `${instance.state} ${instance.reason}`;
  }

  /** A plugin sends its list on its open session. */
  list(socket: FakeSocket, devices = 2, name = 'example.com/x'): void {
    const id = this.idOf(socket, name);
    const session = this.handler.sessions.get(id);
    if (session === undefined) return;
    this.holdings.set(id, {
      instanceId: id,
      resource: name,
      raw: Buffer.alloc(0),
      sha256: '',
      devices,
      healthy: devices,
    });
    session.serving();
  }

  /** An open session ends. */
  lose(socket: FakeSocket, report: Partial<InstanceReport> = {}, name = 'example.com/x'): void {
    const id = this.idOf(socket, name);
    const session = this.handler.sessions.get(id);
    if (session === undefined) return;
    this.handler.sessions.delete(id);
    session.report({ state: 'held', reason: 'connection-lost', message: 'the connection ended', ...report });
  }

  /** The process behind a socket is gone; its file stays. */
  kill(socket: FakeSocket, name = 'example.com/x'): void {
    socket.listener = undefined;
    this.lose(socket, {}, name);
  }

  /** The resource as the node would report it. */
  resource(name = 'example.com/x'): Resource | undefined {
    return resourcesOf(this.holdings.values(), (id) => this.roster.get(id)).get(name);
  }

  /** Refuses inside a handler's register. */
  static refuse(code: Refusal['code'], message: string): never {
    throw new Refused({ code, message });
  }

  #note({ instance, before }: Change): void {
    this.changes.push({ id: instance.id, before: before ?? '[*]', after: instance.state, reason: instance.reason });
  }
}
