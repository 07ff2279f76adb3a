// Finds the registration sockets. Events say where to look; the incarnation found by looking counts.
import type { Clock } from '../kernel/clock.js';
import { Looks } from '../kernel/looks.js';
import { incarnationKey } from '../model/ids.js';
import type { FoundSocket, PinnedSocket } from '../model/plugin.js';
import { isTransient } from '../model/reasons.js';
import type { RefusedSockets } from '../model/registration.js';
import type { DiscoverySpace, RegistryPort } from './ports.js';
import { LookTimer } from './look-timer.js';
import { noRoom } from './no-room.js';

/** The listener of sockets: RegistrySockets (reconcile/registry-sockets). */
export interface DiscoveryEvents {
  /** A socket is there. It belongs to the listener until `gone`. */
  readonly appeared: (found: FoundSocket) => void;
  /** A socket is not there any more; `successor` has taken its path. */
  readonly gone: (socket: PinnedSocket, successor: boolean) => void;
  /** The name by which a socket was told is gone, and another one remains, by which it is there from now on. */
  readonly renamed: (found: FoundSocket, successor: boolean) => void;
  /** Told once of each socket that is there and cannot be used. */
  readonly recorder: RefusedSockets;
  /** No room for further sockets: why, and what to do; undefined: all are known again. Conditions.set (journal/conditions). */
  readonly full: (why: string | undefined) => void;
  /**
   * Everything was looked at on time; other listeners that lost events look now, too: SocketListeners
   * (platform/listeners/socket-listeners), StateLook (checkpoint/state-look) and Users (platform/peer/users).
   */
  readonly looked: () => void;
}

/** Names that a start looks at in one go; the rest is looked at as a rescan does it. */
const AT_ONCE = 1024;

/** A path and the owner that it is counted for. */
interface Counted {
  owner: number;
}

/** A socket that is known. */
type Known = FoundSocket & Counted;

/** A socket that cannot be used, and which life of it was told. */
interface Told extends Counted {
  readonly key: string;
}

/** Keeps the set of sockets below the registry directory. */
export class Discovery {
  readonly #port: RegistryPort;
  readonly #events: DiscoveryEvents;
  readonly #space: () => DiscoverySpace;
  readonly #known = new Map<string, Known>();
  /** The names of an incarnation, the told one first: a link to a socket is that socket. */
  readonly #names = new Map<string, Set<Known>>();
  /** How many paths each owner has among those that are known or cannot be used. */
  readonly #byOwner = new Map<number, number>();
  /** The owners for which there was no room in this look at everything, and those that were reported: `all`, or the uid. */
  readonly #crowded = new Map<string, string>();
  #told: string | undefined;
  /** Sockets that cannot be used and were told, by path. */
  readonly #unusable = new Map<string, Told>();
  /** Calls #examine for each path. */
  readonly #looks: Looks;
  /** Everything is to be looked at again once that was done. */
  #isRescanWanted = false;
  readonly #timer: LookTimer;
  #stopped = false;

  /** @param space the room, read at each use: `openDiscovery` (daemon/discovering) takes it from the settings */
  constructor(port: RegistryPort, events: DiscoveryEvents, clock: Clock, space: () => DiscoverySpace) {
    this.#port = port;
    this.#events = events;
    this.#space = space;
    this.#looks = new Looks({
      clock,
      look: (path, isHint) => this.#examine(path, isHint),
      groupOf: (path) => port.topOf(path),
    });
    this.#timer = new LookTimer(
      clock,
      () => space().rescanMs,
      () => {
        this.rescan();
        events.looked();
      },
    );
  }

  /** Sockets known now. */
  get size(): number {
    return this.#known.size;
  }

  /** Looks at everything now, and again each rescan interval. */
  start(): void {
    this.#timer.start();
    // Restored plugins are compared with the directory, so their paths are looked at in one go, and so are the first AT_ONCE
    // entries; a user that fills the directory does not hold up the start.
    for (const path of this.#port.expected()) this.#examine(path, false);
    const entries = this.#port.list()[Symbol.iterator]();
    for (let count = 0; count < AT_ONCE; count += 1) {
      const next = entries.next();
      if (next.done === true) {
        this.#tellCrowded();
        return;
      }
      if (next.value !== undefined) this.#examine(next.value, false);
    }
    this.#looks.atAll({ [Symbol.iterator]: () => entries }, () => this.#tellCrowded());
  }

  /** Without working file events everything is looked at more often. */
  setPolling(everyMs: number | undefined): void {
    this.#timer.setPolling(everyMs);
  }

  /** Looks at everything soon: events were lost, of any directory. */
  readonly eventsLost = (): void => this.#timer.hurry();

  /** Looks at one path, and at its entries where it is a directory. */
  readonly look = (path: string): void => {
    if (!this.#stopped && !this.#port.isHidden(path)) this.#looks.at(path);
  };

  #examine(path: string, isHint: boolean): void {
    const known = this.#known.get(path);
    const unusable = this.#unusable.get(path);
    const before = known === undefined ? unusable?.key : incarnationKey(known.socket.incarnation);
    const key = this.#port.keyAt(path, before);
    if (isHint && key === undefined) this.#follow(path);
    if (key === before) {
      const counted = known ?? unusable;
      // A directory can be given away after its sockets were counted.
      if (!isHint && counted !== undefined) this.#giveTo(counted, this.#port.ownerOf(path, counted.owner));
      return;
    }
    this.#forgetUnusable(path);
    const owner = key === undefined ? 0 : this.#port.ownerOf(path);
    const hasRoom = key === undefined || known !== undefined || this.#hasRoom(path, owner);
    const socket = key === undefined || !hasRoom ? undefined : this.#pin(path, key, owner);
    if (known !== undefined) this.#forget(path, known, socket);
    if (socket === undefined) return;
    const found: Known = { socket, owner };
    this.#known.set(path, found);
    this.#countOwner(owner, 1);
    const name = incarnationKey(socket.incarnation);
    const names = this.#names.get(name);
    if (names === undefined) this.#names.set(name, new Set([found]));
    else names.add(found);
    if (names === undefined) this.#events.appeared(found);
  }

  #forget(path: string, known: Known, successor?: PinnedSocket): void {
    const { socket, owner } = known;
    this.#known.delete(path);
    this.#countOwner(owner, -1);
    // Only one that is told of succeeds it: another name of a socket that is known already is not asked again.
    const isNews = successor !== undefined && !this.#names.has(incarnationKey(successor.incarnation));
    this.#forgetName(known, isNews);
    socket.release();
  }

  #forgetName(known: Known, isNews: boolean): void {
    const key = incarnationKey(known.socket.incarnation);
    const names = this.#names.get(key);
    const [told] = names ?? [];
    names?.delete(known);
    const [next] = names ?? [];
    if (next === undefined) {
      this.#names.delete(key);
      this.#events.gone(known.socket, isNews);
    } else if (told === known) this.#events.renamed(next, isNews);
  }

  #pin(path: string, key: string, owner: number): PinnedSocket | undefined {
    const found = this.#port.pin(path);
    if (found === undefined || !('refusal' in found)) return found;
    this.#events.recorder.refusedAt(path, found.refusal, owner);
    // A socket whose refusal is a matter of time is looked at again.
    if (isTransient(found.refusal)) return undefined;
    this.#unusable.set(path, { key, owner });
    this.#countOwner(owner, 1);
    return undefined;
  }

  #forgetUnusable(path: string): void {
    const unusable = this.#unusable.get(path);
    if (unusable !== undefined && this.#unusable.delete(path)) this.#countOwner(unusable.owner, -1);
  }

  /** Whether one more socket of an owner may be known. An owner that has more than a share gives way. */
  #hasRoom(path: string, owner: number): boolean {
    const { maxSockets, isTrusted } = this.#space();
    const share = Math.max(1, Math.floor(maxSockets / 4));
    // Sockets beyond the share of an owner are let go first when room is needed, so they count against nobody else.
    let [others, withExcess] = [0, 0];
    for (const [uid, count] of this.#byOwner) {
      if (isTrusted(uid)) continue;
      others += Math.min(count, share);
      withExcess += count;
    }
    const isStranger = !isTrusted(owner);
    const hasShare = (this.#byOwner.get(owner) ?? 0) < share;
    const isEntitled = !isStranger || (hasShare && others < 3 * share);
    const isFull = this.#known.size + this.#unusable.size >= maxSockets || (isStranger && withExcess >= 3 * share);
    if (isEntitled && (!isFull || this.#giveWay(share, isTrusted))) return true;
    const full = isEntitled ? 'all' : hasShare ? 'ordinary' : 'own';
    this.#crowd(...noRoom({ path, owner, maxSockets, share, full }));
    return false;
  }

  /** Lets go of the newest socket, an unusable one first, of an owner that has more than its share, which it got when they were another's. */
  #giveWay(share: number, isTrusted: (uid: number) => boolean): boolean {
    const hasExcess = ([, { owner }]: [string, Counted]): boolean =>
      !isTrusted(owner) && (this.#byOwner.get(owner) ?? 0) > share;
    const unusable = [...this.#unusable].findLast(hasExcess);
    const known = unusable === undefined ? [...this.#known].findLast(hasExcess) : undefined;
    if (unusable !== undefined) this.#forgetUnusable(unusable[0]);
    else if (known !== undefined) this.#forget(known[0], known[1]);
    return unusable !== undefined || known !== undefined;
  }

  /** Reports at once that there is no room, and once: a change is reported after the next look at everything. */
  #crowd(whose: string, why: string): void {
    if (!this.#crowded.has(whose)) this.#crowded.set(whose, why);
    if (this.#told === undefined) this.#tellCrowded();
  }

  #tellCrowded(): void {
    const whose = this.#crowded.has('all') ? 'all' : this.#crowded.keys().next().value;
    if (whose === this.#told) return;
    this.#told = whose;
    this.#events.full(whose === undefined ? undefined : this.#crowded.get(whose));
  }

  #giveTo(counted: Counted, owner: number): void {
    this.#countOwner(counted.owner, -1);
    counted.owner = owner;
    this.#countOwner(owner, 1);
  }

  #countOwner(owner: number, by: 1 | -1): void {
    const count = (this.#byOwner.get(owner) ?? 0) + by;
    if (count === 0) this.#byOwner.delete(owner);
    else this.#byOwner.set(owner, count);
  }

  /** Looks at everything. */
  readonly rescan = (): void => {
    if (this.#stopped) return;
    this.#isRescanWanted = this.#looks.isLookingAtAll;
    if (this.#isRescanWanted) return;
    this.#crowded.clear();
    this.#looks.atAll(this.#everything(), () => {
      this.#tellCrowded();
      if (this.#isRescanWanted) this.rescan();
    });
  };

  /** Stops looking and lets go of all sockets. */
  stop(): void {
    this.#stopped = true;
    this.#timer.stop();
    this.#looks.stop();
    for (const { socket } of this.#known.values()) socket.release();
    this.#known.clear();
    this.#unusable.clear();
    this.#names.clear();
    this.#byOwner.clear();
  }

  /** Where a directory appeared, was removed or renamed, all former and present paths below it are to be looked at. */
  #follow(path: string): void {
    const { isOther, entries } = this.#port.follow(path);
    if (isOther) this.#looks.in(path, this.#below(path, entries ?? []));
    else if (entries !== undefined) this.#looks.in(path, entries);
  }

  /** The known paths below a directory, and its entries. */
  *#below(directory: string, entries: Iterable<string | undefined>): Generator<string | undefined> {
    const prefix = `${directory}/`;
    yield* [...this.#known.keys(), ...this.#unusable.keys()].filter((known) => known.startsWith(prefix));
    yield* entries;
  }

  /** The known paths and the present ones. */
  *#everything(): Generator<string | undefined> {
    const known = new Set([...this.#known.keys(), ...this.#unusable.keys()]);
    yield* known;
    for (const path of this.#port.list()) if (path === undefined || !known.has(path)) yield path;
  }
}
