// The broker's sockets and directories: kubelet.sock, the registry, the device-plugin directory, broker.sock.
import path from 'node:path';
import type { Discovery, DiscoveryEvents } from '../../discovery/discovery.js';
import type { Alarm, Clock } from '../../kernel/clock.js';
import type { Log } from '../../kernel/log.js';
import type { EventSink } from '../../model/event.js';
import type { Settings } from '../../model/settings.js';
import { isThere, makeDirectory } from '../fs/directories.js';
import { DirectoryWatch } from '../fs/directory-watch.js';
import { FlatWatch } from '../fs/flat-watch.js';
import type { SocketPaths } from '../fs/socket-paths.js';
import type { GrpcDoor } from '../grpc/grpc-door.js';
import type { Guarding } from '../grpc/owned-sockets.js';
import { isNoRegistry } from '../grpc/registry-question.js';
import { UnixListener, type ListenerOptions } from '../grpc/unix-listener.js';
import { NameMoves } from './name-moves.js';
import { gidOf, needDirectory } from './needs.js';

/** The name that plugins know. */
export const KUBELET_SOCKET = 'kubelet.sock';
/** Without file events everything is looked at this often. */
const POLL_MS = 1000;
/** A hundred plugins that start make hundreds of file events: one look is for all of them. */
const LOOK_EVERY_MS = 50;
const BROKER_SOCKET_MODE = 0o600;

/** The ports of the listeners. */
export interface SocketListenerPorts {
  readonly settings: Settings;
  readonly paths: SocketPaths;
  readonly clock: Clock;
  readonly log: Log;
  readonly events: EventSink;
  /** Take connections of kubelet.sock and of broker.sock. */
  readonly plugins: Pick<GrpcDoor, 'take'>;
  readonly operators: Pick<GrpcDoor, 'take'>;
  /** The guards of the connection to whoever has the name kubelet.sock. */
  readonly guarding: Guarding;
  /** Accepting failed; the listener goes on: `DescriptorReserve.acceptFailed` (flood/descriptor-reserve). */
  readonly acceptFailed: (failure: Error) => void;
  /**
   * Opens the registry: `openDiscovery` (daemon/discovering). `looked` is called when everything was looked at, so that lost file
   * events cost nobody more.
   */
  readonly openDiscovery: (told: Pick<DiscoveryEvents, 'looked'> & Pick<DirectoryWatch, 'follow'>) => Discovery;
  /** Names that changed in the device-plugin directory; undefined: look at all. Lifecycle.checkPaths (reconcile/lifecycle). */
  readonly lookAtPaths: (names: ReadonlySet<string> | undefined) => void;
  /** Told that kubelet.sock is about to be re-created, or was moved, a kubelet restart to plugins: Settling (reconcile/settling). */
  readonly settling: { kubeletSocketRemade(): void };
  /**
   * A directory cannot be watched, or kubelet.sock cannot be made again (undefined: that is over): Conditions.set
   * (journal/conditions).
   */
  readonly degraded: (what: WatchedDirectory | typeof KUBELET_SOCKET | 'sockets', why: string | undefined) => void;
}

/** The two directories that are followed. */
type WatchedDirectory = 'plugins_registry' | 'device-plugins';

/** Opens, keeps and closes them. */
export class SocketListeners {
  readonly #ports: SocketListenerPorts;
  readonly #discovery: Discovery;
  readonly #registryWatch: DirectoryWatch;
  readonly #deviceWatch: FlatWatch;
  #kubelet: UnixListener | undefined;
  #admin: UnixListener | undefined;
  #rebinding: Promise<void> | undefined;
  #rebindingAdmin: Promise<void> | undefined;
  /** Those of kubelet.sock, which is not made again for the moment where it is restless. */
  readonly #moves: NameMoves;
  /** A condition of kubelet.sock was told. It ends with a look that finds the socket in its place, and not made too often. */
  #isAmiss = false;
  #remaking: Alarm | undefined;
  #lookedAt = -Infinity;
  #nextLook: Alarm | undefined;
  #isClosed = false;
  /** Directories without file events, and when their watch is tried again. */
  readonly #unwatched = new Map<WatchedDirectory, Alarm>();

  constructor(ports: SocketListenerPorts) {
    this.#ports = ports;
    this.#moves = new NameMoves(ports.clock);
    const { pluginsRegistry, devicePlugins } = ports.settings.paths;
    const follow: DirectoryWatch['follow'] = (directory) => this.#registryWatch.follow(directory);
    this.#discovery = ports.openDiscovery({ looked: () => this.#lookAround(true), follow });
    this.#registryWatch = new DirectoryWatch(ports.paths, pluginsRegistry, {
      hint: this.#discovery.look,
      rescan: this.#discovery.rescan,
      lost: this.#discovery.eventsLost,
      degraded: (why) => this.#watchChanged('plugins_registry', why),
    });
    this.#deviceWatch = new FlatWatch(devicePlugins, {
      changed: () => this.#lookSoon(),
      lost: this.#discovery.eventsLost,
      degraded: (why) => this.#watchChanged('device-plugins', why),
    });
  }

  /** Binds kubelet.sock unseen, so that another living daemon is found before anything is touched. @throws PathTaken */
  async bind(): Promise<void> {
    const { paths } = this.#ports.settings;
    for (const directory of [paths.devicePlugins, paths.pluginsRegistry, paths.plugins]) needDirectory(directory);
    this.#kubelet = await this.#bindKubelet();
  }

  /** Serves broker.sock. The listener of a stopping predecessor is replaced by the rename. */
  async openAdmin(): Promise<void> {
    needDirectory(path.dirname(this.#ports.settings.paths.brokerSocket));
    this.#admin = await this.#bindAdmin();
    this.#admin.publishFirst();
  }

  /** Puts kubelet.sock in place. */
  publish(): void {
    this.#kubelet?.publishFirst();
  }

  /** Looks at the present sockets, and follows both directories from now on. */
  watch(): void {
    this.#discovery.start();
    this.#deviceWatch.start();
    this.#registryWatch.start();
  }

  /** Stops accepting plugins and looking at directories; broker.sock goes on. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#nextLook?.cancel();
    this.#remaking?.cancel();
    for (const alarm of this.#unwatched.values()) alarm.cancel();
    this.#discovery.stop();
    await Promise.all([this.#rebinding, this.#rebindingAdmin]);
    this.#deviceWatch.close();
    this.#registryWatch.close();
    this.#kubelet?.close();
  }

  /** Resolves when broker.sock leads to another daemon, when the signal aborts, or after so many milliseconds. */
  readonly untilAdminReplaced = async (limitMs: number, signal: AbortSignal): Promise<void> =>
    this.#admin?.untilReplaced(limitMs, signal);

  /** Stops answering broker.sock. */
  closeAdmin(): void {
    this.#admin?.close();
  }

  /** Without file events, looking at everything more often is all there is. */
  #watchChanged(directory: WatchedDirectory, why: string | undefined): void {
    this.#unwatched.get(directory)?.cancel();
    this.#unwatched.delete(directory);
    if (why !== undefined && !this.#isClosed) {
      // An operator may have raised the limit.
      const watch = directory === 'device-plugins' ? this.#deviceWatch : this.#registryWatch;
      const { clock, settings } = this.#ports;
      const again = clock.alarm(settings.discovery.rescanMs, () => watch.restart());
      this.#unwatched.set(directory, again);
    }
    this.#discovery.setPolling(this.#unwatched.size === 0 ? undefined : POLL_MS);
    this.#ports.degraded(directory, why);
  }

  /** Looks at once, or as soon as the last look is long enough ago. */
  #lookSoon(): void {
    if (this.#isClosed || this.#nextLook !== undefined) return;
    const { clock } = this.#ports;
    const waitMs = this.#lookedAt + LOOK_EVERY_MS - clock.mono();
    if (waitMs <= 0) this.#lookAround();
    else this.#nextLook = clock.alarm(waitMs, () => this.#lookAround());
  }

  readonly #lookAround = (isRescan = false): void => {
    this.#nextLook?.cancel();
    this.#nextLook = undefined;
    if (this.#isClosed) return;
    this.#lookedAt = this.#ports.clock.mono();
    this.#ports.lookAtPaths(isRescan ? undefined : this.#deviceWatch.changes());
    // Nothing at all is there: a process that put another socket in its place is to be asked instead of us.
    if (this.#admin !== undefined && !isThere(this.#ports.settings.paths.brokerSocket))
      this.#rebindingAdmin ??= this.#rebindAdmin().finally(() => (this.#rebindingAdmin = undefined));
    if (this.#kubelet?.isPublished !== true || this.#rebinding !== undefined) return;
    const isRestless = this.#moves.restlessMs > 0;
    if (!this.#kubelet.isInPlace()) {
      if (isRestless) this.#tellRestless();
      else this.#rebinding = this.#rebind().finally(() => (this.#rebinding = undefined));
      return;
    }
    if (this.#kubelet.wasMoved()) {
      // To plugins that watch the name it is a new kubelet.sock.
      this.#moves.note();
      this.#ports.settling.kubeletSocketRemade();
      if (isRestless) this.#tellRestless();
    }
    if (isRestless || !this.#isAmiss) return;
    this.#isAmiss = false;
    this.#ports.degraded(KUBELET_SOCKET, undefined);
  };

  /** It is made again when it may be; that it is not there is told until it has stayed. */
  #tellRestless(): void {
    const { clock, degraded, settings } = this.#ports;
    this.#isAmiss = true;
    this.#remaking?.cancel();
    this.#remaking = clock.alarm(this.#moves.restlessMs, () => this.#lookAround());
    degraded(
      KUBELET_SOCKET,
      `${KUBELET_SOCKET} is removed from ${settings.paths.devicePlugins}, or renamed there and back, again and again, so that plugins cannot always connect, or register each time: find what does it; in a directory with the sticky bit (chmod +t) only its owner could`,
    );
  }

  /** Somebody removed kubelet.sock or its directory: without it no plugin can register. */
  async #rebind(): Promise<void> {
    const { log, events, settings, degraded } = this.#ports;
    const lost = `${KUBELET_SOCKET} is not in ${settings.paths.devicePlugins} any more`;
    const message = `${lost}; it is made again`;
    try {
      makeDirectory(settings.paths.devicePlugins);
      const fresh = await this.#bindKubelet();
      try {
        this.#ports.settling.kubeletSocketRemade();
        // Failed attempts count, too: a process that keeps taking the name would cause one at every look.
        this.#moves.note();
        fresh.publish();
      } catch (failure) {
        fresh.close();
        throw failure;
      }
      this.#kubelet?.close();
      this.#kubelet = fresh;
      log.warn('discovery.socket-remade', message);
      events.record({ type: 'discovery', message });
      if (!this.#isAmiss) degraded(KUBELET_SOCKET, undefined);
    } catch (failure) {
      const why = (failure as Error).message;
      this.#isAmiss = true;
      degraded(KUBELET_SOCKET, `${lost} and cannot be made again, so no device plugin can register: ${why}`);
    }
  }

  /** Somebody removed broker.sock or its directory: without it no operator can ask. Tried again at the next look. */
  async #rebindAdmin(): Promise<void> {
    const { log, events, settings } = this.#ports;
    const { brokerSocket } = settings.paths;
    const message = `${path.basename(brokerSocket)} is not in ${path.dirname(brokerSocket)} any more; it is made again`;
    try {
      makeDirectory(path.dirname(brokerSocket));
      const fresh = await this.#bindAdmin();
      if (this.#isClosed || isThere(brokerSocket)) {
        fresh.close();
        return;
      }
      fresh.publish();
      this.#admin?.close();
      this.#admin = fresh;
      log.warn('discovery.socket-remade', message);
      events.record({ type: 'discovery', message });
    } catch (failure) {
      const why = (failure as Error).message;
      log.warn('discovery.socket-missing', `${brokerSocket} was removed and cannot be made again: ${why}`);
    }
  }

  readonly #movedAside = (message: string): void => {
    this.#ports.log.warn('discovery.moved-aside', message);
    this.#ports.events.record({ type: 'discovery', message });
  };

  #bindAdmin(): Promise<UnixListener> {
    const { settings, operators } = this.#ports;
    const access = { mode: BROKER_SOCKET_MODE };
    const place = { path: settings.paths.brokerSocket, access, replaces: true, isAtOnce: true };
    return this.#bind({ ...place, onConnection: operators.take });
  }

  #bindKubelet(): Promise<UnixListener> {
    const { settings, plugins, guarding } = this.#ports;
    const { mode, group } = settings.socket;
    const access = { mode, gid: gidOf(group), keepsAcl: true };
    const file = path.join(settings.paths.devicePlugins, KUBELET_SOCKET);
    const replaces = (occupant: string): Promise<boolean> => isNoRegistry(occupant, guarding);
    return this.#bind({ path: file, access, replaces, onConnection: plugins.take });
  }

  #bind(
    own: Pick<ListenerOptions, 'path' | 'access' | 'replaces' | 'isAtOnce' | 'onConnection'>,
  ): Promise<UnixListener> {
    const { clock, acceptFailed: onError } = this.#ports;
    return UnixListener.bind({ ...own, clock, onError, onMovedAside: this.#movedAside });
  }
}
