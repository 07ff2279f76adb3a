// The broker's sockets and directories: kubelet.sock, the registry, the device-plugin directory, broker.sock.
import type { Socket } from 'node:net';
import path from 'node:path';
import { pinRefusal } from '../admission/endpoint.js';
import { Discovery } from '../discovery/discovery.js';
import type { Alarm, Clock } from '../kernel/clock.js';
import type { Log } from '../kernel/log.js';
import type { EventSink } from '../model/event.js';
import type { PinnedSocket } from '../model/plugin.js';
import type { Refusal } from '../model/reasons.js';
import type { Settings } from '../model/settings.js';
import { makeDirectory } from '../platform/fs/directories.js';
import { DirectoryWatch, isHidden, listFiles } from '../platform/fs/directory-watch.js';
import { FlatWatch } from '../platform/fs/flat-watch.js';
import { pinSocket } from '../platform/fs/socket-pin.js';
import { PathTaken, UnixListener } from '../platform/grpc/unix-listener.js';

/** The name that plugins know. */
export const KUBELET_SOCKET = 'kubelet.sock';
/** Without file events everything is looked at this often. */
const POLL_MS = 1000;
/** A look is at every plugin, and a hundred plugins that start make hundreds of file events: one look is for all of them. */
const LOOK_EVERY_MS = 50;
/** Anybody may connect who may enter the directory, as with the kubelet's own socket (0777 minus its usual umask). */
const KUBELET_SOCKET_MODE = 0o755;
const BROKER_SOCKET_MODE = 0o600;

/** What the doors need. */
export interface DoorPorts {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly log: Log;
  readonly events: EventSink;
  readonly keyAt: (path: string) => string | undefined;
  readonly acceptPlugin: (socket: Socket) => void;
  readonly acceptAdmin: (socket: Socket) => void;
  /** Accepting failed; the listener goes on. */
  readonly acceptFailed: (failure: Error) => void;
  readonly socketAppeared: (socket: PinnedSocket) => void;
  readonly socketGone: (socket: PinnedSocket, hasSuccessor: boolean) => void;
  readonly socketUnusable: (path: string, refusal: Refusal) => void;
  /** Something changed in the device-plugin directory, or it is time to look. */
  readonly lookAtPaths: () => void;
  /** A directory cannot be watched, or kubelet.sock cannot be made again (undefined: that is over). */
  readonly degraded: (what: WatchedDirectory | typeof KUBELET_SOCKET, why: string | undefined) => void;
}

/** The two directories that are followed. */
type WatchedDirectory = 'plugins_registry' | 'device-plugins';

/** Opens, keeps and closes them. */
export class Doors {
  readonly #ports: DoorPorts;
  readonly #discovery: Discovery;
  readonly #registryWatch: DirectoryWatch;
  readonly #deviceWatch: FlatWatch;
  #kubelet: UnixListener | undefined;
  #admin: UnixListener | undefined;
  #rebinding: Promise<void> | undefined;
  #lookedAt = -Infinity;
  #nextLook: Alarm | undefined;
  #isClosed = false;
  /** Directories without file events, and when their watch is tried again. */
  readonly #unwatched = new Map<WatchedDirectory, Alarm>();

  constructor(ports: DoorPorts) {
    this.#ports = ports;
    const { pluginsRegistry, devicePlugins } = ports.settings.paths;
    this.#discovery = new Discovery(
      {
        list: () => listFiles(pluginsRegistry),
        pin: (file) => {
          const pinned = pinSocket(file);
          if (!('problem' in pinned)) return pinned;
          const isGone = pinned.problem === 'missing' || pinned.problem === 'not-a-socket';
          return isGone ? undefined : { refusal: pinRefusal('a registration socket', file, pinned) };
        },
        keyAt: ports.keyAt,
        isHidden: (file) => isHidden(pluginsRegistry, file),
      },
      {
        appeared: ports.socketAppeared,
        gone: ports.socketGone,
        unusable: ports.socketUnusable,
        looked: () => this.#lookAround(),
      },
      ports.clock,
      () => ports.settings.discovery.rescanMs,
    );
    this.#registryWatch = new DirectoryWatch(pluginsRegistry, {
      hint: this.#discovery.look,
      rescan: this.#discovery.rescan,
      degraded: (why) => this.#watchChanged('plugins_registry', why),
    });
    this.#deviceWatch = new FlatWatch(devicePlugins, {
      changed: () => this.#lookSoon(),
      degraded: (why) => this.#watchChanged('device-plugins', why),
    });
  }

  /** Binds kubelet.sock where nobody sees it yet, so that a living other daemon is found before anything is touched. @throws PathTaken */
  async bind(): Promise<void> {
    const { paths } = this.#ports.settings;
    for (const directory of [paths.devicePlugins, paths.pluginsRegistry, paths.plugins]) needDirectory(directory);
    this.#kubelet = await this.#bindKubelet();
  }

  /** Serves broker.sock. The listener of a stopping predecessor is replaced by the rename. */
  async openAdmin(): Promise<void> {
    const { brokerSocket } = this.#ports.settings.paths;
    needDirectory(path.dirname(brokerSocket));
    this.#admin = await UnixListener.bind({
      path: brokerSocket,
      mode: BROKER_SOCKET_MODE,
      clock: this.#ports.clock,
      replaces: true,
      onConnection: this.#ports.acceptAdmin,
      onError: this.#ports.acceptFailed,
    });
    this.#admin.publish();
  }

  /** Gives the cue: kubelet.sock is in place. */
  publish(): void {
    this.#kubelet?.publish();
  }

  /** Starts to follow both directories. Resolves when the first look is complete. */
  async watch(): Promise<void> {
    this.#discovery.start();
    this.#deviceWatch.start();
    await this.#registryWatch.start();
  }

  /** Stops accepting plugins and looking at directories; broker.sock goes on. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#nextLook?.cancel();
    for (const alarm of this.#unwatched.values()) alarm.cancel();
    this.#discovery.stop();
    await this.#rebinding;
    this.#deviceWatch.close();
    await this.#registryWatch.close();
    void this.#kubelet?.close();
  }

  /** Whether broker.sock still leads to us. */
  get isAdminInPlace(): boolean {
    return this.#admin?.isInPlace() === true;
  }

  /** Stops answering broker.sock. */
  closeAdmin(): void {
    void this.#admin?.close();
  }

  /** Without file events, looking at everything more often is all there is. */
  #watchChanged(directory: WatchedDirectory, why: string | undefined): void {
    this.#unwatched.get(directory)?.cancel();
    this.#unwatched.delete(directory);
    if (why !== undefined && !this.#isClosed) {
      const watch = directory === 'device-plugins' ? this.#deviceWatch : this.#registryWatch;
      // An operator may have raised the limit.
      const { clock, settings } = this.#ports;
      this.#unwatched.set(
        directory,
        clock.alarm(settings.discovery.rescanMs, () => void watch.restart()),
      );
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

  readonly #lookAround = (): void => {
    this.#nextLook?.cancel();
    this.#nextLook = undefined;
    if (this.#isClosed) return;
    this.#lookedAt = this.#ports.clock.mono();
    this.#ports.lookAtPaths();
    if (this.#kubelet?.isPublished !== true || this.#kubelet.isInPlace()) return;
    this.#rebinding ??= this.#rebind().finally(() => (this.#rebinding = undefined));
  };

  /** Somebody removed kubelet.sock or its directory: without it no plugin can register. */
  async #rebind(): Promise<void> {
    const { log, events, settings, degraded } = this.#ports;
    const lost = `${KUBELET_SOCKET} is not in ${settings.paths.devicePlugins} any more`;
    const message = `${lost}; it is made again`;
    try {
      makeDirectory(settings.paths.devicePlugins);
      const fresh = await this.#bindKubelet();
      try {
        fresh.publish();
      } catch (failure) {
        void fresh.close();
        throw failure;
      }
      void this.#kubelet?.close();
      this.#kubelet = fresh;
      log.warn('discovery.socket-remade', message);
      events.record({ type: 'discovery', message });
      degraded(KUBELET_SOCKET, undefined);
    } catch (failure) {
      const why = (failure as Error).message;
      degraded(KUBELET_SOCKET, `${lost} and cannot be made again, so no device plugin can register: ${why}`);
    }
  }

  #bindKubelet(): Promise<UnixListener> {
    return UnixListener.bind({
      path: path.join(this.#ports.settings.paths.devicePlugins, KUBELET_SOCKET),
      mode: KUBELET_SOCKET_MODE,
      clock: this.#ports.clock,
      replaces: false,
      onConnection: this.#ports.acceptPlugin,
      onError: this.#ports.acceptFailed,
    });
  }
}

/** Makes a directory without which nobody can be served. @throws PathTaken with what to do */
function needDirectory(directory: string): void {
  try {
    makeDirectory(directory);
  } catch (failure) {
    throw new PathTaken(
      `${directory} cannot be made: ${(failure as Error).message}; let the user of the broker write there, or choose another place with --root or in the configuration (paths)`,
    );
  }
}
