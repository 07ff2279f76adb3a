// The sockets and registry entries of the front in a kubelet's directories. Socket A is the one that Register names, below
// a folder of device-plugins/ that the kubelet's wipe leaves; socket B stands in plugins/ and is reached through a link in
// plugins_registry/, which the kubelet dials by itself when it starts. That link is made once and never changed: the
// kubelet forgets a plugin by its resource name when an entry goes, and would cut off the socket that Register named.
import { randomBytes } from 'node:crypto';
import { createServer, type Server, type Socket } from 'node:net';
import path from 'node:path';
import type { Clock } from '../../kernel/clock.js';
import type { FrontedService, FrontSockets, OpenSockets } from '../../front/ports.js';
import { incarnationKey, strangerUser, type Incarnation, type UserFacts } from '../../model/ids.js';
import { makeDirectories } from '../fs/name-calls.js';
import { inDirectory, type PinnedDirectory } from '../fs/pinned-directory.js';
import { ownFolder } from '../fs/private-folder.js';
import { incarnationAt } from '../fs/socket-pin.js';
import { ifPossible } from '../../kernel/if-possible.js';
import { answers, listening } from '../grpc/unix-listener.js';
import { NO_READ_AHEAD } from '../peer/read-ahead.js';
import { onceATurn } from '../time/next-turn.js';
import { linkAt, withFolder } from './front-folder.js';
import { FRONT_ENTRY, FRONT_FOLDER, FRONT_MARK, namesOf, type KubeletPaths } from './front-paths.js';
import { needOnlyOurs } from './only-ours.js';

/** One ordinary user's part of the entries: a quarter of those that all ordinary users may have. */
const SHARE = 1 / 8;

/** The ports of the sockets. */
export interface KubeletSocketsPorts extends UserFacts {
  readonly paths: KubeletPaths;
  readonly clock: Clock;
  /** Takes an accepted connection to a socket of a resource: `FrontDoor.take` (platform/kubelet/front-door). */
  readonly take: (socket: Socket, resource: string, service: FrontedService) => void;
  /** Entries in the registry at most: admission.maxPlugins of LiveConfig (config/live-config). */
  readonly maxEntries: () => number;
}

/**
 * Makes the sockets of resources. The entries that they make for each ordinary user, who may think up ever new names, are counted: none
 * is taken away meanwhile.
 */
export function openKubeletSockets(ports: KubeletSocketsPorts): OpenSockets {
  const entriesOf = new Map<number, number>();
  return (resource, service) => new KubeletSockets(resource, service, ports, entriesOf);
}

/** The sockets and the registry entry of one resource. */
class KubeletSockets implements FrontSockets {
  readonly endpoint: string;
  readonly #service: FrontedService;
  readonly #ports: KubeletSocketsPorts;
  readonly #entriesOf: Map<number, number>;
  readonly #names: ReturnType<typeof namesOf>;
  readonly #a: BoundSocket;
  readonly #b: BoundSocket;

  constructor(resource: string, service: FrontedService, ports: KubeletSocketsPorts, entriesOf: Map<number, number>) {
    this.#service = service;
    this.#ports = ports;
    this.#entriesOf = entriesOf;
    this.#names = namesOf(resource);
    const { paths, clock, take } = ports;
    const onConnection = (socket: Socket): void => take(socket, resource, service);
    this.endpoint = `${FRONT_FOLDER}/${this.#names.socket}`;
    this.#a = new BoundSocket(paths.devicePlugins, this.#names.socket, clock, onConnection);
    this.#b = new BoundSocket(paths.plugins, this.#names.socket, clock, (socket) => {
      socket.on('error', () => undefined); // it may go while it waits
      service.afterRegister(() => {
        if (!socket.destroyed) onConnection(socket);
      });
    });
  }

  async ensure(): Promise<void> {
    await this.#a.ensure();
    await this.#b.ensure();
  }

  enter(): string | undefined {
    const { registry } = this.#ports.paths;
    const { entry, target } = this.#names;
    try {
      // It is there nearly always, and a kubelet that starts waits for the rest of the work.
      if (linkAt(path.join(registry, entry)) === target) return undefined;
      makeDirectories(registry, 0o750);
      // Who may remove the entry has the kubelet forget the resource, with the list that it follows.
      checkOnlyOurs(registry);
      return inDirectory(registry, (pinned) => {
        if (pinned.status(entry) !== undefined) {
          return `${path.join(registry, entry)} is not the broker's; remove it, or set front.doors: register`;
        }
        const entries = pinned.names().filter((name) => FRONT_ENTRY.test(name)).length;
        const { maxEntries } = this.#ports;
        const all = maxEntries();
        // By the plugin that spoke last: one that has gone meanwhile is nobody's, and may have been anybody's.
        const user = strangerUser(this.#service.uid ?? 0, this.#ports);
        const most = user === undefined ? all : all / 2;
        const whose = most < all ? ', and ordinary users have half of admission.maxPlugins' : ' (admission.maxPlugins)';
        if (entries >= most) return `the registry has ${String(entries)} entries of the broker${whose}`;
        const own = user === undefined ? 0 : (this.#entriesOf.get(user) ?? 0) + 1;
        if (own > Math.max(1, all * SHARE))
          return `the registry has ${String(own - 1)} entries for plugins of uid ${String(user)}, an eighth of admission.maxPlugins`;
        pinned.symlink(entry, target);
        if (user !== undefined) this.#entriesOf.set(user, own);
        return undefined;
      });
    } catch (failure) {
      return `no entry can be made in ${registry}: ${(failure as Error).message}`;
    }
  }

  close(isForgotten: boolean): void {
    this.#a.close(isForgotten);
    this.#b.close(isForgotten);
  }
}

/** All resources are registered at one moment, and their sockets stand in the same directories. */
const checkOnlyOurs = onceATurn(needOnlyOurs);

/** A listening socket in our folder of a kubelet's directory, bound again when its file is not there any more. */
class BoundSocket {
  readonly #parent: string;
  readonly #name: string;
  readonly #clock: Clock;
  readonly #onConnection: (socket: Socket) => void;
  #server: Server | undefined;
  /** The socket that the server was bound to. */
  #bound: Incarnation | undefined;
  /** From then on nothing is bound any more, by a call of `ensure` that is under way neither. */
  #isClosed = false;

  constructor(parent: string, name: string, clock: Clock, onConnection: (socket: Socket) => void) {
    this.#parent = parent;
    this.#name = name;
    this.#clock = clock;
    this.#onConnection = onConnection;
  }

  /** @throws Error with a sentence */
  async ensure(): Promise<void> {
    checkOnlyOurs(this.#parent);
    const file = path.join(this.#parent, FRONT_FOLDER, this.#name);
    const there = incarnationAt(file, this.#bound);
    if (there !== undefined && this.#bound !== undefined && incarnationKey(there) === incarnationKey(this.#bound))
      return;
    if (there !== undefined && (await answers(file, this.#clock))) {
      throw new Error(`${file} is served by another process: another broker stands before this kubelet`);
    }
    this.#needOpen();
    const folder = openFolder(this.#parent);
    const server = createServer(NO_READ_AHEAD, this.#onConnection);
    try {
      const unseen = `.${randomBytes(6).toString('hex')}`;
      await listening(server, folder.at(unseen));
      // Its name may be the socket of another life of the resource by now.
      this.#needOpen();
      server.on('error', () => undefined); // accepting failed once: the kubelet tries again
      // A file there is a leftover of ours: nobody else may write this folder.
      folder.rename(unseen, this.#name);
      this.#bound = folder.incarnation(this.#name);
      this.#server?.close();
      this.#server = server;
    } catch (failure) {
      server.close();
      throw failure;
    } finally {
      folder.close();
    }
  }

  /** @param isForgotten its file goes, too, while it is the one that was bound here */
  close(isForgotten: boolean): void {
    this.#isClosed = true;
    this.#server?.close();
    this.#server = undefined;
    const bound = this.#bound;
    this.#bound = undefined;
    // One that cannot be removed stays for the next broker, or `front uninstall`.
    if (isForgotten && bound !== undefined)
      ifPossible(() => withFolder(this.#parent, ({ inside }) => inside.unlinkIf(this.#name, bound)));
  }

  #needOpen(): void {
    if (this.#isClosed) throw new Error(`${this.#name} is not wanted any more`);
  }
}

/**
 * Our folder there, made if it is missing. The kubelet runs as root: nobody else is to speak with its sockets.
 *
 * @throws Error when it is somebody else's
 */
function openFolder(parent: string): PinnedDirectory {
  makeDirectories(parent, 0o750);
  return inDirectory(parent, (pinned) => {
    if (pinned.status(FRONT_FOLDER) === undefined) pinned.makeFolder(FRONT_FOLDER);
    const folder = ownFolder(pinned, FRONT_FOLDER, FRONT_MARK);
    if (folder !== undefined) return folder.inside;
    throw new Error(`${path.join(parent, FRONT_FOLDER)} is not a folder of the broker's own; move it away`);
  });
}
