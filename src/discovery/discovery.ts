// Which registration sockets are there? Hints say where to look; what counts is the incarnation found by looking.
import type { Alarm, Clock } from '../kernel/clock.js';
import { incarnationKey } from '../model/ids.js';
import type { PinnedSocket } from '../model/plugin.js';
import { isTransient, type Refusal } from '../model/reasons.js';

/** The directory, as this stage needs it. */
export interface RegistryPort {
  /** All files that may be sockets, hidden names left out. */
  list(): readonly string[];
  /** Pins the socket at a path; undefined when there is none, or why it cannot be used. */
  pin(path: string): PinnedSocket | Unusable | undefined;
  /** The incarnation key at a path without pinning it; undefined when there is no socket. */
  keyAt(path: string): string | undefined;
  /** Whether the path or a directory above it has a hidden name. */
  isHidden(path: string): boolean;
}

/** Why a socket that is there cannot be a plugin's. */
export interface Unusable {
  readonly refusal: Refusal;
}

/** What is told. */
export interface DiscoveryEvents {
  /** A socket is there. It belongs to the listener until `gone`. */
  readonly appeared: (socket: PinnedSocket) => void;
  /** A socket is not there any more; `successor` has taken its path. */
  readonly gone: (socket: PinnedSocket, successor: boolean) => void;
  /** A socket is there and cannot be used; told once for each. */
  readonly unusable: (path: string, refusal: Refusal) => void;
  /** Everything was looked at on time; others who lost events may look now, too. */
  readonly looked: () => void;
}

/** Sockets known at most; beyond it newcomers are not looked at (a directory full of them is an attack). */
const MAX_SOCKETS = 8192;

/** Keeps the set of sockets below the registry directory. */
export class Discovery {
  readonly #port: RegistryPort;
  readonly #events: DiscoveryEvents;
  readonly #clock: Clock;
  readonly #rescanMs: () => number;
  readonly #known = new Map<string, PinnedSocket>();
  /** How many names an incarnation has: a link to a socket is that socket. */
  readonly #names = new Map<string, number>();
  /** Sockets that cannot be used and were told, by path. */
  readonly #unusable = new Map<string, string>();
  #timer: Alarm | undefined;
  #fastRescanMs: number | undefined;
  #stopped = false;

  constructor(port: RegistryPort, events: DiscoveryEvents, clock: Clock, rescanMs: () => number) {
    this.#port = port;
    this.#events = events;
    this.#clock = clock;
    this.#rescanMs = rescanMs;
  }

  /** Sockets known now. */
  get size(): number {
    return this.#known.size;
  }

  /** Looks at everything now, and again each rescan interval. */
  start(): void {
    this.rescan();
    this.#again();
  }

  /** Without working file events everything is looked at more often. */
  setPolling(everyMs: number | undefined): void {
    this.#fastRescanMs = everyMs;
    if (this.#stopped || this.#timer === undefined) return;
    this.#timer.cancel();
    this.#again();
  }

  /** Looks at one path, and where it is no socket at what was known below it. */
  readonly look = (path: string): void => {
    if (this.#stopped || this.#port.isHidden(path)) return;
    if (!this.#known.has(path)) this.#lookBelow(path);
    this.#examine(path);
  };

  #examine(path: string): void {
    const known = this.#known.get(path);
    const key = this.#port.keyAt(path);
    if (key === (known === undefined ? this.#unusable.get(path) : incarnationKey(known.incarnation))) return;
    this.#unusable.delete(path);
    const found = key === undefined ? undefined : this.#pin(path, key);
    if (known !== undefined) {
      this.#known.delete(path);
      if (this.#countName(known, -1) === 0) this.#events.gone(known, found !== undefined);
      known.release();
    }
    if (found === undefined) return;
    if (this.#known.size >= MAX_SOCKETS) {
      found.release();
      return;
    }
    this.#known.set(path, found);
    if (this.#countName(found, 1) === 1) this.#events.appeared(found);
  }

  #pin(path: string, key: string): PinnedSocket | undefined {
    const found = this.#port.pin(path);
    if (found === undefined || !('refusal' in found)) return found;
    this.#events.unusable(path, found.refusal);
    // What is only a matter of time is looked at again.
    if (!isTransient(found.refusal) && this.#unusable.size < MAX_SOCKETS) this.#unusable.set(path, key);
    return undefined;
  }

  #countName({ incarnation }: PinnedSocket, by: 1 | -1): number {
    const key = incarnationKey(incarnation);
    const names = (this.#names.get(key) ?? 0) + by;
    if (names === 0) this.#names.delete(key);
    else this.#names.set(key, names);
    return names;
  }

  /** Looks at everything. */
  readonly rescan = (): void => {
    if (this.#stopped) return;
    for (const path of [...this.#known.keys(), ...this.#unusable.keys()]) this.#examine(path);
    for (const path of this.#port.list()) this.#examine(path);
  };

  /** Stops looking and lets go of all sockets. */
  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    for (const socket of this.#known.values()) socket.release();
    this.#known.clear();
    this.#names.clear();
  }

  /** A directory was removed or renamed: what was below it is to be looked at. */
  #lookBelow(directory: string): void {
    const prefix = `${directory}/`;
    for (const path of [...this.#known.keys()]) if (path.startsWith(prefix)) this.#examine(path);
  }

  #again(): void {
    this.#timer = this.#clock.alarm(this.#fastRescanMs ?? this.#rescanMs(), () => {
      this.rescan();
      this.#events.looked();
      this.#again();
    });
  }
}
