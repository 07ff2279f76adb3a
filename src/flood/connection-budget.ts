// How many connections one process may open and hold, one ordinary user open, and all together: `flood.connections`.
import type { ConnectionEndCode } from '../model/connection-ends.js';
import { processKey, strangerUser, type Caller } from '../model/ids.js';
import type { FloodSettings } from '../model/settings.js';
import type { LimitView } from '../model/views.js';
import { Limiters } from './entries.js';
import { whoGivesWay, type Yielding } from './giving-way.js';
import { nobodysView } from './limit-views.js';
import type { Limiter } from './limiter.js';
import type { FloodPorts } from './ports.js';
import { figures } from './sentences.js';
import { Shortage } from './shortage.js';
import { UserConnections, type TurnedAway } from './user-connections.js';

/** Processes counted apart; newcomers past that are counted together with those of their user, so that no user fills another's room. */
const MAX_PROCESSES = 4_096;
/** The key of callers of whom nothing is known. */
const ALL = 'all';
/** While all are taken, processes with this part of all are shown in `limits`; it ends when as many are free. */
const LARGE_PART = 16;

/** May a connection stay? A refused one is to be closed at once; a counted one is released once when it is closed. */
export type ConnectionVerdict =
  | {
      readonly ok: true;
      readonly release: () => void;
      /** From now on it may have to give way to a newcomer. */
      readonly mayGiveWay?: (connection: Yielding) => void;
    }
  | {
      readonly ok: false;
      readonly code: ConnectionEndCode;
      readonly sentence: string;
      /**
       * Where its process has no more for now: whether the next one of the process would be refused like it, which is
       * counted then, and told by nobody. Good for this turn of the loop: a pid may be used again.
       */
      readonly refusesNext?: () => boolean;
    };

/** The ports of a budget. `events` gets one for each connection that is only observed: a closed one is reported by its closer. */
export type ConnectionBudgetPorts = Pick<
  FloodPorts,
  'openLimiter' | 'metrics' | 'events' | 'clock' | 'crowded' | 'userOf' | 'ownUid'
>;

/** A counted connection that may give way. */
interface Held extends Yielding {
  readonly release: () => void;
}

interface Problem {
  readonly code: ConnectionEndCode;
  readonly sentence: string;
  /** It is the process that has no more, and takes nothing from others of its user. */
  readonly isOwn?: true;
}

interface Entry {
  readonly who: string;
  readonly uid: number;
  /** The user it counts for when connections give way. */
  readonly user: number;
  /** Neither root's nor the broker's own. */
  readonly isStranger: boolean;
  readonly limiter: Limiter;
  /** Oldest first. */
  readonly held: Set<Held>;
  open: number;
  exceeded: number;
}

/** The bucket `connections`, per process, and per ordinary user. */
export class ConnectionBudget {
  readonly #ports: ConnectionBudgetPorts;
  readonly #entries = new Limiters<Entry>({
    most: MAX_PROCESSES,
    isForgettable: (entry) => this.#isForgettable(entry),
  });
  readonly #users: UserConnections;
  /** Why newcomers are kept out, as it was told last: all are open, or users connect too often. */
  readonly #why: { all?: string | undefined; users?: string | undefined } = {};
  /** All are open. */
  readonly #crowd: Shortage;
  #settings: FloodSettings;
  #open = 0;

  constructor(settings: FloodSettings, ports: ConnectionBudgetPorts) {
    this.#settings = settings;
    this.#ports = ports;
    this.#users = new UserConnections(settings, { ...ports, crowded: (users) => this.#tell({ users }) });
    const over = (): void => this.#tell({ all: undefined });
    this.#crowd = new Shortage(ports.clock, over, () => !this.#hasLittleRoom);
  }

  /** Connections that were let in and not released. */
  get open(): number {
    return this.#open;
  }

  /** Processes that are remembered. */
  get size(): number {
    return this.#entries.size;
  }

  /** Whether one of this uid is to be closed before `admit`, because its user connects too often; undefined: it is not. */
  turnsAway(uid: number | undefined): TurnedAway | undefined {
    return this.#users.turnsAway(uid);
  }

  /** Whether the policy enforces; one that observes slows nobody. */
  get isEnforced(): boolean {
    return this.#settings.mode === 'enforce';
  }

  /** Counts a connection that was accepted; `caller` undefined: nothing is known of any process (no koffi). */
  admit(caller: Caller | undefined): ConnectionVerdict {
    const entry = this.#entryOf(caller);
    const problem = this.#problem(entry);
    if (problem !== undefined) {
      const { code, sentence, isOwn } = problem;
      this.#exceed(entry);
      if (this.#settings.mode !== 'observe') {
        if (isOwn) return { ok: false, code, sentence, refusesNext: () => this.#refusesNext(entry) };
        this.#users.spend(caller?.uid);
        return { ok: false, code, sentence };
      }
      const message = `${sentence}, if flood.mode were enforce`;
      this.#ports.events.record({ type: 'connection', reason: code, message });
    }
    this.#users.spend(caller?.uid);
    entry.open += 1;
    this.#open += 1;
    let held: Held | undefined;
    let isReleased = false;
    const release = (): void => {
      if (held !== undefined) entry.held.delete(held);
      if (isReleased) return;
      isReleased = true;
      entry.open -= 1;
      this.#open -= 1;
    };
    const mayGiveWay = (connection: Yielding): void => {
      held = { ...connection, release };
      entry.held.add(held);
    };
    return { ok: true, release, mayGiveWay };
  }

  /**
   * Closes an idle connection of the largest holder in favour of a connection of `caller`. Returns whether one was closed; the
   * newcomer then counts for its user like any connection that was let in.
   */
  makeRoom(caller: Caller | undefined): boolean {
    if (this.#makeRoomFor(this.#entryOf(caller))) return true;
    this.#users.spend(caller?.uid);
    return false;
  }

  /** Goes on under other settings with the permits that are left. */
  reload(settings: FloodSettings): void {
    this.#settings = settings;
    this.#users.reload(settings);
    this.#entries.reload(settings.connections);
  }

  /** Stops all limiters. */
  close(): void {
    this.#crowd.close();
    this.#users.close();
    this.#entries.close();
  }

  /** Processes that hold more connections than usual, and users and processes that were refused one. */
  views(): LimitView[] {
    const { mode, connections } = this.#settings;
    const isLarge = ({ open }: Entry): boolean => this.#crowd.isOn && open * LARGE_PART >= connections.total;
    const noticed = this.#entries
      .all()
      .filter((entry) => isLarge(entry) || (entry.exceeded > 0 && !this.#isForgettable(entry)));
    const processes = noticed.map((entry) => {
      const { uid, limiter, exceeded } = entry;
      return nobodysView('connections', limiter, { uid, mode, exceeded, slowing: this.#slowing(entry) });
    });
    return [...this.#users.views(), ...processes];
  }

  /** Which process it is, how many it holds, and whether a further one would be closed. */
  #slowing(entry: Entry): string {
    const isFull = this.#full(entry) !== undefined || this.#isCrowded || entry.limiter.permits() === 0;
    const word = this.#settings.mode === 'observe' ? 'observe' : 'disconnect';
    return `${isFull ? `${word}: ` : ''}${entry.who}, ${String(entry.open)} open`;
  }

  #exceed(entry: Entry): void {
    entry.exceeded += 1;
    this.#ports.metrics.floodExceeded('connections', this.#settings.mode === 'observe' ? 'observe' : 'disconnect');
  }

  #refusesNext(entry: Entry): boolean {
    if (this.#full(entry) === undefined && entry.limiter.permits() > 0) return false;
    this.#exceed(entry);
    return true;
  }

  #problem(entry: Entry): Problem | undefined {
    const problem = this.#full(entry);
    if (problem !== undefined) return problem;
    const { connections, mode } = this.#settings;
    if (!entry.limiter.tryTake()) {
      const sentence = `${entry.who} connects more often than flood.connections allows (${figures(connections)}); the connection is closed`;
      return { code: 'CONNECTION_FLOOD', sentence, isOwn: true };
    }
    if (!this.#isCrowded) return undefined;
    this.#tellCrowded();
    if (mode === 'enforce' && this.#makeRoomFor(entry)) return undefined;
    const sentence = `all ${String(connections.total)} connections of flood.connections.total are open; one of ${entry.who} is closed`;
    return { code: 'CONNECTIONS_TOTAL', sentence };
  }

  get #isCrowded(): boolean {
    return this.#open >= this.#settings.connections.total;
  }

  /** The place of a newcomer that has left again is no room yet: the next one would find none. */
  get #hasLittleRoom(): boolean {
    const { total } = this.#settings.connections;
    return this.#open > total - Math.ceil(total / LARGE_PART);
  }

  #makeRoomFor(entry: Entry): boolean {
    const victim = whoGivesWay<Held, Entry>(this.#entries.all(), entry);
    victim?.release();
    victim?.giveWay();
    return victim !== undefined;
  }

  /** Told as a condition until there is room again. */
  #tellCrowded(): void {
    if (!this.#crowd.meet()) return;
    const { total } = this.#settings.connections;
    this.#tell({
      all: `all ${String(total)} connections of flood.connections.total are open, so newcomers take the place of idle ones, or cannot connect to kubelet.sock: see in \`plugin-broker limits\` who holds them`,
    });
  }

  #tell(change: { readonly all?: string | undefined; readonly users?: string | undefined }): void {
    Object.assign(this.#why, change);
    const { all, users } = this.#why;
    this.#ports.crowded?.(all !== undefined && users !== undefined ? `${all}; ${users}` : (all ?? users));
  }

  #full({ who, open }: Entry): Problem | undefined {
    const { perProcess } = this.#settings.connections;
    if (open < perProcess) return undefined;
    const sentence = `${who} holds the ${String(perProcess)} connections that flood.connections.perProcess allows; a further one is closed`;
    return { code: 'CONNECTIONS_PER_PROCESS', sentence, isOwn: true };
  }

  #entryOf(caller: Caller | undefined): Entry {
    const uid = caller?.uid ?? -1;
    const stranger = strangerUser(uid, this.#ports);
    const user = stranger ?? uid;
    const open = (isShared: boolean): Entry => ({
      who: isShared ? `everybody else of uid ${String(user)}` : whoIs(caller),
      uid: isShared ? user : uid,
      user,
      isStranger: stranger !== undefined,
      limiter: this.#ports.openLimiter(this.#settings.connections),
      held: new Set(),
      open: 0,
      exceeded: 0,
    });
    if (caller === undefined) return this.#entries.of(ALL, open, ALL);
    return this.#entries.of(processKey(caller), open, `${ALL} of ${String(user)}`);
  }

  #isForgettable(entry: Entry): boolean {
    return entry.open === 0 && entry.limiter.isFull();
  }
}

function whoIs(caller: Caller | undefined): string {
  if (caller === undefined) return 'everybody together';
  const { pid, uid } = caller;
  return pid === undefined ? `uid ${String(uid)}` : `pid ${String(pid)} (uid ${String(uid)})`;
}
