// Interprets registration sockets that come and go: a socket that appears is a pending registration, one that goes a
// de-registration.
import { incarnationKey } from '../model/ids.js';
import type { FoundSocket, PinnedSocket, PluginHandler } from '../model/plugin.js';
import { type Change, type Instance, isConnected, type RosterListener } from '../model/instance.js';
import type { Attempt } from '../model/registration.js';
import { isAskedAgain } from './consequences.js';
import type { Endings } from './endings.js';
import type { Reconciler } from './reconciler.js';
import type { Reports } from './reports.js';
import type { Roster } from './roster.js';

/** The ports of the registry sockets. */
export interface RegistrySocketPorts {
  readonly roster: Roster;
  readonly reconciler: Reconciler;
  readonly reports: Reports;
  readonly endings: Endings;
  readonly handlers: ReadonlyMap<string, PluginHandler>;
  /** Asks the plugin behind a registration socket once. WatcherDoor (registration/watcher-door) is it. */
  readonly door: { attempt(found: FoundSocket, signal: AbortSignal, failures: number): Promise<Attempt> };
}

/** Turns sockets of the registry directory into pending registrations, and their removal into de-registrations. */
export class RegistrySockets implements RosterListener {
  readonly #ports: RegistrySocketPorts;
  /** Sockets that are there, by incarnation. */
  readonly #present = new Map<string, FoundSocket>();

  constructor(ports: RegistrySocketPorts) {
    this.#ports = ports;
  }

  /** A registration socket appeared: it is a pending registration until its plugin is registered and told so. */
  readonly appeared = (found: FoundSocket): void => {
    found.socket.retain();
    this.#present.set(incarnationKey(found.socket.incarnation), found);
    this.#want(found);
  };

  /** A registration socket went: its plugin is de-registered without dialling it; a successor gets its chance first. */
  readonly gone = (socket: PinnedSocket, hasSuccessor: boolean): void => {
    const { roster, reconciler, reports } = this.#ports;
    const key = incarnationKey(socket.incarnation);
    const known = this.#present.get(key)?.socket;
    reconciler.unwant(pendingKey(key), key);
    known?.release();
    this.#present.delete(key);
    for (const instance of [...roster.all()]) {
      if (instance.door !== 'watcher' || instance.socketKey !== key || instance.state === 'gone') continue;
      if (hasSuccessor && isConnected(instance)) {
        const message = 'its registration socket was replaced; the newcomer is being asked';
        reports.report(instance.id, { state: 'orphaned', reason: 'path-taken', message });
      } else {
        this.#deregister(instance);
      }
    }
    // A newcomer that was to replace the plugin at its path and was removed before it answered leaves that plugin without a path.
    if (!hasSuccessor && known !== undefined) this.#closeReplaced(known.path, key);
  };

  /** A registration socket goes by another of its names from now on: a plugin that is being asked is asked by that one. */
  readonly renamed = (found: FoundSocket, hasSuccessor: boolean): void => {
    const { reconciler } = this.#ports;
    const key = incarnationKey(found.socket.incarnation);
    const before = this.#present.get(key)?.socket;
    found.socket.retain();
    this.#present.set(key, found);
    if (reconciler.has(pendingKey(key), key)) {
      reconciler.unwant(pendingKey(key), key);
      this.#want(found);
    }
    this.#rename(key, found.socket.path);
    if (before === undefined) return;
    if (!hasSuccessor) this.#closeReplaced(before.path, key);
    before.release();
  };

  /** Where registration sockets are expected: those of known instances, of the checkpoint at first. */
  readonly expected = (): string[] =>
    [...this.#ports.roster.all()].flatMap(({ door, socketPath }) => (door === 'watcher' ? socketPath : []));

  /** Lets all sockets go. */
  dispose(): void {
    for (const { socket } of this.#present.values()) socket.release();
    this.#present.clear();
  }

  /** The plugin finds its way back by the name that remains, after a restart of the broker, too: it is not asked for that. */
  #rename(key: string, path: string): void {
    const { roster, handlers } = this.#ports;
    for (const instance of [...roster.all()]) {
      if (instance.door !== 'watcher' || instance.socketKey !== key || instance.socketPath === path) continue;
      roster.rename(instance, path);
      handlers.get(instance.type)?.renamed?.(instance.id, instance.endpointPath);
    }
  }

  #want(found: FoundSocket): void {
    const { socket } = found;
    const held = socket.retain();
    const key = incarnationKey(socket.incarnation);
    this.#ports.reconciler.want({
      key: pendingKey(key),
      incarnation: key,
      attempt: async (signal, failures) => {
        const attempt = await this.#ports.door.attempt(found, signal, failures);
        this.#closeReplaced(socket.path, key);
        return attempt;
      },
      dropped: () => held.release(),
    });
  }

  /** A plugin that was given up while its socket is there, because its process hangs, is asked again until it answers. */
  changed({ instance }: Change): void {
    const found = this.#present.get(instance.socketKey);
    if (found !== undefined && isAskedAgain(instance)) this.#want(found);
  }

  /** Deregisters the predecessor at a path once the newcomer there was asked, or has gone. */
  #closeReplaced(path: string, key: string): void {
    for (const instance of [...this.#ports.roster.all()]) {
      const isReplaced = instance.door === 'watcher' && instance.socketPath === path && instance.socketKey !== key;
      if (isReplaced && instance.state === 'orphaned') this.#deregister(instance);
    }
  }

  #deregister(instance: Instance): void {
    const { endings, reports } = this.#ports;
    if (instance.state === 'rejected') return;
    endings.endSession(instance, 'socket-removed');
    // An instance that never served is not held.
    const state = instance.state === 'connecting' ? 'gone' : 'held';
    reports.report(instance.id, { state, reason: 'socket-removed', message: 'its registration socket was removed' });
  }
}

/** The key of the pending registration of a socket: one socket has it once, however many names it has or had. */
function pendingKey(incarnation: string): string {
  return `socket:${incarnation}`;
}
