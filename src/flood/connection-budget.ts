// How many connections one process may open and hold, and all together: `flood.connections`.
import type { Metrics } from '../kernel/metrics.js';
import type { ConnectionEndCode } from '../model/connection-ends.js';
import type { EventSink } from '../model/event.js';
import type { Caller } from '../model/ids.js';
import type { FloodSettings } from '../model/settings.js';
import type { LimitView } from '../model/views.js';
import type { Limiter, OpenLimiter } from './limiter.js';
import { makeRoom } from './make-room.js';
import { figures } from './sentences.js';

/** Processes counted apart; newcomers past that are counted together. */
const MAX_PROCESSES = 4_096;
/** The key of those whose process is not known, or not counted apart. */
const ALL = 'all';

/** May a connection stay? A refused one is to be closed at once; a counted one is released once when it is closed. */
export type ConnectionVerdict =
  | { readonly ok: true; readonly release: () => void }
  | { readonly ok: false; readonly code: ConnectionEndCode; readonly sentence: string };

/** What a budget needs. */
export interface ConnectionBudgetPorts {
  readonly openLimiter: OpenLimiter;
  readonly metrics: Metrics;
  /** Gets an event for each connection that is only observed (whoever closes one tells that): summarise repeats. */
  readonly events: EventSink;
}

interface Problem {
  readonly code: ConnectionEndCode;
  readonly sentence: string;
}

interface Entry {
  readonly who: string;
  readonly uid: number;
  readonly limiter: Limiter;
  open: number;
  exceeded: number;
}

/** The bucket `connections`, per process. */
export class ConnectionBudget {
  readonly #ports: ConnectionBudgetPorts;
  readonly #entries = new Map<string, Entry>();
  #settings: FloodSettings;
  #open = 0;

  constructor(settings: FloodSettings, ports: ConnectionBudgetPorts) {
    this.#settings = settings;
    this.#ports = ports;
  }

  /** Connections that were let in and not released. */
  get open(): number {
    return this.#open;
  }

  /** Processes that are remembered. */
  get size(): number {
    return this.#entries.size;
  }

  /** Counts a connection that was accepted; `caller` undefined: nothing is known of any process (no koffi). */
  admit(caller: Caller | undefined): ConnectionVerdict {
    const entry = this.#entryOf(caller);
    const problem = this.#problem(entry);
    if (problem !== undefined) {
      entry.exceeded += 1;
      const isObserved = this.#settings.mode === 'observe';
      this.#ports.metrics.floodExceeded('connections', isObserved ? 'observe' : 'disconnect');
      if (!isObserved) return { ok: false, ...problem };
      const message = `${problem.sentence}, if flood.mode were enforce`;
      this.#ports.events.record({ type: 'connection', reason: problem.code, message });
    }
    entry.open += 1;
    this.#open += 1;
    return { ok: true, release: this.#releaseOnce(entry) };
  }

  /** Goes on under other settings with the permits that are left. */
  reload(settings: FloodSettings): void {
    this.#settings = settings;
    const { burst, intervalMs } = settings.connections;
    for (const entry of this.#entries.values()) entry.limiter.reload({ burst, intervalMs });
  }

  /** Stops all limiters. */
  close(): void {
    for (const entry of this.#entries.values()) entry.limiter.close();
    this.#entries.clear();
  }

  /** Processes that hold connections beyond what is usual, or were refused one. */
  views(): LimitView[] {
    const { mode, connections } = this.#settings;
    const noticed = [...this.#entries.values()].filter((entry) => entry.exceeded > 0 && !this.#isForgettable(entry));
    return noticed.map((entry) => ({
      limit: 'connections',
      plugin: '',
      uid: entry.uid,
      mode,
      permits: entry.limiter.permits(),
      burst: connections.burst,
      intervalMs: connections.intervalMs,
      nextInMs: Math.ceil(entry.limiter.nextInMs()),
      strikes: 0,
      quarantinedUntil: '',
      exceeded: entry.exceeded,
      slowing: this.#slowing(entry),
      source: 'flood',
    }));
  }

  /** Which process it is, how many it holds, and whether a further one would be closed. */
  #slowing(entry: Entry): string {
    const isFull = this.#full(entry) !== undefined || entry.limiter.permits() === 0;
    const word = this.#settings.mode === 'observe' ? 'observe' : 'disconnect';
    return `${isFull ? `${word}: ` : ''}${entry.who}, ${String(entry.open)} open`;
  }

  #problem(entry: Entry): Problem | undefined {
    const problem = this.#full(entry);
    if (problem !== undefined || entry.limiter.tryTake()) return problem;
    const { connections } = this.#settings;
    const sentence = `${entry.who} connects more often than flood.connections allows (${figures(connections)}); the connection is closed`;
    return { code: 'CONNECTION_FLOOD', sentence };
  }

  #full({ who, open }: Entry): Problem | undefined {
    const { total, perProcess } = this.#settings.connections;
    if (this.#open >= total) {
      const sentence = `all ${String(total)} connections of flood.connections.total are open; one of ${who} is closed`;
      return { code: 'CONNECTIONS_TOTAL', sentence };
    }
    if (open < perProcess) return undefined;
    const sentence = `${who} holds the ${String(perProcess)} connections that flood.connections.perProcess allows; a further one is closed`;
    return { code: 'CONNECTIONS_PER_PROCESS', sentence };
  }

  #entryOf(caller: Caller | undefined): Entry {
    const own = keyOf(caller);
    const known = this.#entries.get(own);
    if (known !== undefined) return known;
    const key = this.#entries.size < MAX_PROCESSES || this.#evict() ? own : ALL;
    const shared = this.#entries.get(key);
    if (shared !== undefined) return shared;
    const { burst, intervalMs } = this.#settings.connections;
    const entry: Entry = {
      who: key === ALL ? 'everybody together' : whoIs(caller),
      uid: key === ALL ? -1 : (caller?.uid ?? -1),
      limiter: this.#ports.openLimiter({ burst, intervalMs }),
      open: 0,
      exceeded: 0,
    };
    this.#entries.set(key, entry);
    return entry;
  }

  #evict(): boolean {
    const evicted = makeRoom(this.#entries, (entry) => this.#isForgettable(entry));
    evicted?.limiter.close();
    return evicted !== undefined;
  }

  #isForgettable(entry: Entry): boolean {
    return entry.open === 0 && entry.limiter.isFull();
  }

  #releaseOnce(entry: Entry): () => void {
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      entry.open -= 1;
      this.#open -= 1;
    };
  }
}

function keyOf(caller: Caller | undefined): string {
  if (caller === undefined) return ALL;
  if (caller.pid === undefined) return `uid ${String(caller.uid)}`;
  return `pid ${String(caller.pid)} ${caller.startTime ?? ''}`;
}

function whoIs(caller: Caller | undefined): string {
  const uid = `uid ${String(caller?.uid)}`;
  return caller?.pid === undefined ? uid : `pid ${String(caller.pid)} (${uid})`;
}
