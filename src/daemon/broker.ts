// The core behind its sockets, as one thing that starts and stops. Its state and its adapters are handed in.
import type { Socket } from 'node:net';
import { AdminService } from '../admin/admin-service.js';
import type { AdminPort } from '../admin/admin-port.js';
import { mayListen } from '../model/ids.js';
import { KeptSockets } from '../platform/fs/kept-sockets.js';
import type { BrokerView } from '../model/views.js';
import { strangerUserOf } from '../model/instance.js';
import type { LeaseSource } from '../model/lease.js';
import { SocketListeners, type SocketListenerPorts } from '../platform/listeners/socket-listeners.js';
import { servedAdmin } from '../platform/grpc/admin-server.js';
import { GrpcDoor } from '../platform/grpc/grpc-door.js';
import type { Guarding } from '../platform/grpc/owned-sockets.js';
import { operatorsDoor } from '../platform/grpc/operators-door.js';
import { MAX_REGISTER_BYTES, serveRegister } from '../platform/grpc/register-service.js';
import { StandardServices } from '../platform/grpc/standard-services.js';
import { Descriptors } from '../platform/process/descriptors.js';
import { ConnectionGate } from '../flood/connection-gate.js';
import type { ConnectionBudget } from '../flood/connection-budget.js';
import type { ReadPaces } from '../flood/read-paces.js';
import { DescriptorReserve } from '../flood/descriptor-reserve.js';
import type { Border } from '../platform/http2/border.js';
import { openBorders } from '../platform/http2/borders.js';
import { Core, type CorePorts } from './core.js';
import { openDiscovery } from './discovering.js';
import type { SocketPaths } from '../platform/fs/socket-paths.js';
import type { Peers } from '../platform/peer/peers.js';
import { pluginSide, type PeerQuestions, type PluginSide } from '../platform/peer/plugin-side.js';
import { podResources, type PodResourcesParts } from './pod-resources.js';

/** The parts of the broker: Daemon (daemon/daemon) has them, its adapters of `assemble` (daemon/assemble). */
export interface BrokerParts extends Omit<CorePorts, keyof PluginSide> {
  /** May a process connect? */
  readonly connections: Pick<ConnectionBudget, 'admit' | 'turnsAway' | 'makeRoom' | 'isEnforced'>;
  readonly peers: PeerQuestions &
    Pick<Peers, 'peerOf' | 'uidOf' | 'uidOfTcp' | 'turnAwayMore' | 'turnAwayMoreTcp'> & { readonly isExact?: boolean };
  /** The way to sockets of plugins. */
  readonly paths: SocketPaths;
  /** Called after each rescan, so that changes without a file event are found: by `StateLook.look` and `Users.look`. */
  readonly rescanned?: () => void;
  /** The guards of connections to plugins. */
  readonly guarding: Guarding;
  /** How ordinary users are read. */
  readonly reads: ReadPaces['of'];
  readonly countConnection: (what: 'accepted' | 'refused' | 'ended') => void;
  readonly degraded: (
    what: Parameters<SocketListenerPorts['degraded']>[0] | Parameters<PodResourcesParts['degraded']>[0] | 'descriptors',
    why: string | undefined,
  ) => void;
  /** Puts something between the core and its neighbours; absent: they meet directly. */
  readonly interpose?: ((ports: CorePorts) => CorePorts) | undefined;
}

/** Core and listeners together. */
export class Broker {
  readonly core: Core;
  readonly #parts: BrokerParts;
  readonly #listeners: SocketListeners;
  readonly #plugins: GrpcDoor;
  readonly #operators: GrpcDoor;
  readonly #reserve: DescriptorReserve<Socket>;
  readonly #kept: KeptSockets;
  #podResources: ReturnType<typeof podResources> | undefined;
  #standard: StandardServices | undefined;
  #isStopping = false;

  constructor(given: BrokerParts) {
    const { live, clock, log, peers, paths } = given;
    const { settings } = live;
    this.#kept = new KeptSockets({ isListening: (socket) => mayListen(peers.listenerOf(socket)), paths });
    const neighbours: CorePorts = {
      ...given,
      ...pluginSide(() => live.admission.maxMessageBytes, peers, given.guarding, this.#kept, paths),
    };
    const ports = given.interpose?.(neighbours) ?? neighbours;
    const { events } = ports;
    const parts = { ...given, events };
    this.#parts = parts;
    this.core = new Core(ports);
    const { registerDoor, recorder, lifecycle } = this.core;
    this.#reserve = new DescriptorReserve<Socket>({
      descriptors: new Descriptors(),
      clock,
      degraded: (why) => parts.degraded('descriptors', why),
    });
    const { accept, inTurn } = this.newGate();
    const { streams } = settings.flood.connections;
    this.#plugins = new GrpcDoor({ accept, inTurn, streams, maxRequestBytes: MAX_REGISTER_BYTES, clock });
    serveRegister(this.#plugins, registerDoor, recorder);
    this.#operators = operatorsDoor(settings.guard, clock, log);
    this.#listeners = new SocketListeners({
      settings,
      clock,
      log,
      events,
      paths,
      plugins: this.#plugins,
      operators: this.#operators,
      guarding: parts.guarding,
      acceptFailed: this.#reserve.acceptFailed,
      openDiscovery: ({ looked, follow }) =>
        openDiscovery(this.core, {
          ...{ settings, clock, paths, follow },
          ownUid: parts.self.uid,
          userOf: parts.userOf,
          looked: () => {
            looked();
            parts.rescanned?.();
          },
          full: (why) => parts.degraded('sockets', why),
        }),
      lookAtPaths: (names) => {
        this.#reserve.hasRoom(); // a shortage is told before the next connection finds it
        lifecycle.checkPaths(names);
      },
      settling: this.core.settling,
      degraded: parts.degraded,
    });
  }

  /** Guards the connections to one socket. */
  newGate(count = this.#parts.countConnection): ConnectionGate<Socket, Border> {
    const { live, clock, log, events, peers, userOf, self, reads, connections: budget } = this.#parts;
    return new ConnectionGate({
      ...{ clock, log, events, peers, budget, ownUid: self.uid, userOf, reads, count },
      reserve: this.#reserve,
      openBorder: openBorders(live.settings.guard, clock),
    });
  }

  /** Connections of plugins open now. */
  get connections(): number {
    return this.#plugins.connections;
  }

  /** Accepting failed somewhere. */
  readonly acceptFailed = (failure: Error): void => this.#reserve.acceptFailed(failure);

  /** Binds kubelet.sock privately, and restores the sockets that an earlier life of the broker had removed. @throws PathTaken */
  async bind(): Promise<void> {
    await this.#listeners.bind();
    const { live, log } = this.#parts;
    const { settling, roster } = this.core;
    void this.#kept.adopt(live.settings.paths.devicePlugins, settling, roster.all()).then((why) => {
      if (why !== undefined) log.warn('broker.kept-sockets', why);
    });
  }

  /** Serves the admin API on broker.sock. */
  async serveOperators(port: AdminPort, phase: () => BrokerView['phase']): Promise<void> {
    const { definition, handlers } = servedAdmin(new AdminService(port), this.#parts.log);
    this.#operators.serve(definition, handlers);
    this.#standard = new StandardServices(phase);
    this.#standard.serve(this.#operators);
    await this.#listeners.openAdmin();
  }

  /** The phase may have changed: clients that watch the health of broker.sock are told. */
  phaseChanged(): void {
    this.#standard?.changed();
  }

  /** Serves PodResources, once the leases of the checkpoint are known. */
  async servePodResources(leases: LeaseSource, kubelet?: PodResourcesParts['kubelet']): Promise<void> {
    const { settings } = this.#parts.live;
    const own = { ownUid: this.#parts.self.uid, userOf: this.#parts.userOf };
    if (!settings.podResources.enabled) return;
    this.#podResources = podResources({
      ...this.#parts,
      ...{ settings, leases, kubelet, ...own },
      gate: this.newGate(() => undefined),
      acceptFailed: this.#reserve.acceptFailed,
      offered: this.core.offered,
      strangerOf: (id) => strangerUserOf(this.core.roster.get(id), own),
    });
    await this.#podResources.open();
  }

  /** After the checkpoint was restored: bare connects, then kubelet.sock. */
  async publish(): Promise<void> {
    await this.core.restart.noteAnswering();
    this.#listeners.publish();
  }

  /**
   * After kubelet.sock was put in place: plugins that call by themselves, then all at once.
   *
   * @param before is to be done before the broker can become ready
   */
  async open(before: () => Promise<void>): Promise<void> {
    const { restart } = this.core;
    await restart.callersFirst();
    await before();
    const begun = restart.begin();
    this.#listeners.watch();
    await begun;
  }

  /**
   * Stops accepting, and finishes calls in flight. broker.sock answers until `closeOperators`.
   *
   * @param callsMs milliseconds that are left for calls in flight
   */
  async stop(callsMs: () => number): Promise<void> {
    if (this.#isStopping) return;
    this.#isStopping = true;
    this.core.registerDoor.close({ code: 'STOPPING', message: 'the broker is stopping' });
    this.#reserve.close();
    await Promise.all([this.#listeners.close(), this.#podResources?.close(callsMs), this.#plugins.hush()]);
    await this.#plugins.drain(callsMs());
  }

  /** Closes sessions; the roster stays to be looked at. After the last write of the checkpoint. */
  async closeSessions(): Promise<void> {
    await this.core.stop();
    this.#kept.close();
  }

  /** Answers operators, as things were, until a successor does, for so many milliseconds at most. Never rejects. */
  linger(limitMs: number, signal: AbortSignal): Promise<void> {
    return this.#listeners.untilAdminReplaced(limitMs, signal);
  }

  /** Ends the admin API once its calls are answered or so many milliseconds have passed, and lets all sockets go. */
  async closeOperators(limitMs: number): Promise<void> {
    this.#listeners.closeAdmin();
    this.#standard?.close();
    await this.#operators.drain(limitMs);
    this.core.dispose();
  }
}
