// The broker as one thing that starts and stops: core, doors, admin. What it needs from packages and disks is handed in
// by serve.ts, and by tests.
import type { Socket } from 'node:net';
import type { FloodPort, Listener } from '../admission/ports.js';
import { AdminService } from '../admin/admin-service.js';
import type { AdminPort } from '../admin/admin-port.js';
import type { Holding } from '../inventory/inventory.js';
import { sleep, type Clock } from '../kernel/clock.js';
import type { Log } from '../kernel/log.js';
import type { Metrics } from '../kernel/metrics.js';
import type { Random } from '../kernel/random.js';
import type { EventSink } from '../model/event.js';
import type { Caller } from '../model/ids.js';
import { incarnationKey } from '../model/ids.js';
import type { Enrolment, PinnedSocket, PluginHandler } from '../model/plugin.js';
import type { UpdatePacer } from '../session/ports.js';
import { realDirectory } from '../platform/fs/directories.js';
import { incarnationAt, pinSocket } from '../platform/fs/socket-pin.js';
import { descriptorOf, Descriptors } from '../platform/process/descriptors.js';
import { nextTurn } from '../platform/time/next-turn.js';
import { moveAside } from '../platform/fs/plugin-sockets.js';
import { servedAdmin } from '../platform/grpc/admin-server.js';
import { GrpcDoor } from '../platform/grpc/grpc-door.js';
import { pluginDialler, registrationClient } from '../platform/grpc/plugin-dialler.js';
import { serveRegister } from '../platform/grpc/register-service.js';
import { answers } from '../platform/grpc/unix-listener.js';
import { decodeDeviceList, hashDeviceList } from '../platform/wire/device-list.js';
import type { Instance } from '../reconcile/instance.js';
import { acceptOperators, acceptPlugins, type ConnectionVerdict } from './connections.js';
import { Core, type CorePorts, type LiveSettings } from './core.js';
import { DescriptorReserve } from './descriptor-reserve.js';
import { Doors } from './doors.js';
import type { FaultPort } from './fault-port.js';
import type { Trouble } from './troubles.js';

/** The largest RegisterRequest taken: names and paths are short. */
const MAX_REGISTER_BYTES = 64 * 1024;
/** Calls in flight are given this long when the broker stops (contract 6). */
const DRAIN_MS = 5000;
/**
 * After the cue nobody is dialled for so long: who has waited for kubelet.sock or broker.sock is answered before the work
 * of dialling everybody begins, and a plugin that registers at once on the cue need not be dialled.
 */
const CALLERS_FIRST_MS = 25;
/** Concurrent calls of one operator connection. */
const ADMIN_STREAMS = 64;
/** Calls of operators that are under way at the very end are given this long. */
const LAST_ANSWERS_MS = 1000;
const MAX_ADMIN_REQUEST_BYTES = 64 * 1024;

/** What the broker is made of. */
export interface BrokerParts {
  readonly live: LiveSettings;
  readonly self: { readonly uid: number; readonly pid: number };
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly events: EventSink;
  readonly flood: FloodPort & {
    openPacer(enrolment: Enrolment, instanceId: string): UpdatePacer;
    connection(caller: Caller | undefined): ConnectionVerdict;
  };
  readonly peers: {
    peerOf(socket: Socket): Caller | undefined;
    listenerOf(socket: PinnedSocket): Listener;
    isListening(path: string): boolean | undefined;
  };
  readonly store: {
    persist(instance: Instance): Promise<boolean>;
    listApplied(holding: Holding): void;
    isDeregistered(socketKey: string): boolean;
  };
  readonly handlers: readonly PluginHandler[];
  readonly countConnection: (what: 'accepted' | 'refused' | 'ended') => void;
  readonly restartSettled: (confirmed: number, total: number) => void;
  readonly degraded: (what: Trouble, why: string | undefined) => void;
  /** Disturbs plugins and tells about them, for `verify` alone. */
  readonly faults?: FaultPort | undefined;
}

/** Core and doors together. */
export class Broker {
  readonly core: Core;
  readonly #parts: BrokerParts;
  readonly #doors: Doors;
  readonly #plugins: GrpcDoor;
  readonly #operators: GrpcDoor;
  readonly #reserve: DescriptorReserve;
  #isStopping = false;

  constructor({ faults, ...given }: BrokerParts) {
    const parts = faults === undefined ? given : { ...given, events: faults.events(given.events) };
    this.#parts = parts;
    const { live, clock, log, events, flood, peers, store } = parts;
    const { settings } = live;
    const keyAt = (path: string): string | undefined => {
      const incarnation = incarnationAt(path);
      return incarnation === undefined ? undefined : incarnationKey(incarnation);
    };
    const ports: CorePorts = {
      ...parts,
      flood,
      openPacer: (enrolment, id) => flood.openPacer(enrolment, id),
      pin: pinSocket,
      keyAt,
      realDirectory,
      listenerOf: (socket) => peers.listenerOf(socket),
      answers: async (path) => peers.isListening(path) ?? answers(path, clock),
      dialler: pluginDialler(() => live.admission.maxMessageBytes, clock),
      registrationClient: registrationClient(clock, (socket) => callerFrom(peers.listenerOf(socket))),
      mover: { moveAside },
      decode: async (raw, maxDevices, signal) => {
        const slicing = { yieldTurn: nextTurn, signal };
        const decoded = await decodeDeviceList(raw, maxDevices, slicing);
        if (!decoded.ok) {
          return {
            ok: false,
            code: decoded.tooLarge ? 'LIST_TOO_LARGE' : 'REQUEST_INVALID',
            sentence: decoded.message,
          };
        }
        return { ok: true, summary: decoded.summary, sha256: await hashDeviceList(raw, slicing) };
      },
      nextTurn,
      persist: (instance) => store.persist(instance),
      listApplied: (holding) => store.listApplied(holding),
      isDeregistered: (key) => store.isDeregistered(key),
      closedBecause: () => (this.#isStopping ? { code: 'STOPPING', message: 'the broker is stopping' } : undefined),
      restartSettled: parts.restartSettled,
    };
    this.core = new Core(faults?.disturb(ports) ?? ports);
    faults?.follow(this.core);
    this.#reserve = new DescriptorReserve({
      descriptors: new Descriptors(),
      clock,
      degraded: (why) => parts.degraded('descriptors', why),
    });
    const accept = acceptPlugins({
      clock,
      log,
      events,
      guard: () => settings.guard,
      peerOf: (socket) => peers.peerOf(socket),
      hasRoom: (socket) => this.#reserve.hasRoom(descriptorOf(socket)),
      admit: (caller) => flood.connection(caller),
      count: parts.countConnection,
    });
    const { streams } = settings.flood.connections;
    this.#plugins = new GrpcDoor({ accept, streams, maxRequestBytes: MAX_REGISTER_BYTES, clock });
    serveRegister(this.#plugins, {
      register: (call, caller) => this.core.registerDoor.register(call, caller),
      undecodable: (refusal, caller) => {
        events.record({
          type: 'refused',
          reason: refusal.code,
          message: `${refusal.message} (uid ${String(caller?.uid ?? '?')})`,
        });
        log.warn('registration.refused', refusal.message, { code: refusal.code, uid: caller?.uid, pid: caller?.pid });
        parts.metrics.registration('DevicePlugin', 'refused', refusal.code);
      },
    });
    this.#operators = new GrpcDoor({
      clock,
      accept: acceptOperators,
      streams: ADMIN_STREAMS,
      maxRequestBytes: MAX_ADMIN_REQUEST_BYTES,
    });
    this.#doors = new Doors({
      settings,
      clock,
      log,
      events,
      keyAt,
      acceptPlugin: this.#plugins.take,
      acceptAdmin: this.#operators.take,
      acceptFailed: this.#reserve.acceptFailed,
      socketAppeared: this.core.registrySockets.appeared,
      socketGone: this.core.registrySockets.gone,
      socketUnusable: this.core.refusedAt,
      lookAtPaths: () => {
        this.#reserve.hasRoom();
        this.core.lifecycle.checkPaths();
      },
      degraded: parts.degraded,
    });
  }

  /** Connections of plugins open now. */
  get connections(): number {
    return this.#plugins.connections;
  }

  /** Binds kubelet.sock privately. @throws PathTaken */
  bind(): Promise<void> {
    return this.#doors.bind();
  }

  /** Serves the admin API on broker.sock. */
  async serveOperators(port: AdminPort): Promise<void> {
    const { definition, handlers } = servedAdmin(new AdminService(port), this.#parts.log);
    this.#operators.serve(definition, handlers);
    await this.#doors.openAdmin();
  }

  /** After what the checkpoint knew was put back: bare connects, cue, those who call by themselves, then everybody at once. */
  async open(): Promise<void> {
    await this.core.restart.noteAnswering();
    this.#doors.publish();
    await sleep(this.#parts.clock, CALLERS_FIRST_MS);
    await Promise.all([this.core.restart.begin(this.core.lifecycle), this.#doors.watch()]);
  }

  /** Stops accepting, finishes calls in flight, closes sessions. broker.sock answers until `closeOperators`. */
  async stop(): Promise<void> {
    if (this.#isStopping) return;
    this.#isStopping = true;
    this.#reserve.close();
    await this.#doors.close();
    await this.#plugins.drain(DRAIN_MS);
  }

  /** Closes sessions; what is known stays to be looked at. After the last write of the checkpoint. */
  async closeSessions(): Promise<void> {
    await this.core.stop();
  }

  /** Whether broker.sock still leads to us. */
  get isAnsweringOperators(): boolean {
    return this.#doors.isAdminInPlace;
  }

  /** Ends the admin API once its calls are answered, and lets all sockets go. */
  async closeOperators(): Promise<void> {
    this.#doors.closeAdmin();
    await this.#operators.drain(LAST_ANSWERS_MS);
    this.core.dispose();
  }
}

function callerFrom(listener: Listener): Caller | undefined {
  if ('error' in listener) return undefined;
  const { uid, gid, pid } = listener;
  return { uid, gid, pid, startTime: undefined, source: pid === undefined ? 'socket-file' : 'peercred' };
}
