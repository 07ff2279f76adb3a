// The way of an accepted connection before its first byte is read: its caller is identified, its budget checked, the border put
// before it.
import type { Surroundings } from '../kernel/surroundings.js';
import type { CallTurns, ReadPace } from '../model/call-turns.js';
import type { ConnectionEnd } from '../model/connection-ends.js';
import type { EventSink } from '../model/event.js';
import type { GuardedConnection } from '../model/guarded-connection.js';
import { processKey, type Caller, type UserFacts } from '../model/ids.js';
import { CallPaces } from './call-paces.js';
import type { ConnectionVerdict } from './connection-budget.js';
import type { DescriptorReserve } from './descriptor-reserve.js';
import type { Yielding } from './giving-way.js';
import { ConnectionRun, RefusalRuns } from './refusal-runs.js';

/** A connection that keeps calling after refusals is read only this often, and the next ones of its process; how many calls
 * of all of them are taken up is in call-paces. */
const SLOW_READ_MS = 100;

/** Ends that belong to a long life: nothing for an operator at night. */
const NORMAL_ENDS: ReadonlySet<string> = new Set(['IDLE', 'TOO_OLD']);

/** An accepted connection. */
export interface AcceptedSocket {
  readonly destroyed: boolean;
  once(event: 'close', closed: () => void): unknown;
  destroy(): unknown;
}

/** The first reader of a connection, which can be told to read less: Border (platform/http2/border). */
export interface Throttled {
  /** Is read only this often from now on. */
  throttle(everyMs: number, turns?: CallTurns): void;
  throttleAfterOneCall(everyMs: number, turns?: CallTurns, first?: CallTurns): void;
  /** No call is open, and none has begun. */
  readonly isIdle: boolean;
  /** Is not read before. */
  readLater(inMs: number): void;
}

/** The ports of the gate. */
export interface ConnectionGatePorts<Socket, Border> extends Pick<Surroundings, 'clock' | 'log'>, UserFacts {
  readonly events: EventSink;
  /** Identifies callers: Peers (platform/peer/peers). */
  readonly peers: {
    peerOf(socket: Socket): Caller | undefined;
    /** The same, and nothing but the uid: one question to the kernel. */
    uidOf(socket: Socket): number | undefined;
    /** Closes further connections that wait behind a connection that was turned away. */
    turnAwayMore(socket: Socket, isTurnedAway: (uid: number | undefined, pid: number | undefined) => boolean): void;
  };
  /** Whether the process has file descriptors to spare beside this connection's. */
  readonly reserve: Pick<DescriptorReserve<Socket>, 'hasRoom'>;
  /** May it connect? ConnectionBudget (flood/connection-budget) decides. */
  readonly budget: {
    /** Whether the policy enforces. */
    readonly isEnforced: boolean;
    /** Whether a connection is to be closed before its process is known: undefined, or the sentence to report, if any. */
    turnsAway(uid: number | undefined): { readonly sentence: string | undefined } | undefined;
    admit(caller: Caller | undefined): ConnectionVerdict;
    /** Closes an idle connection of the largest holder; false: nobody holds so much. */
    makeRoom(caller: Caller | undefined): boolean;
  };
  /** How a user is read: `ReadPaces.of` (flood/read-paces). */
  readonly reads: (uid: number | undefined, process?: string) => ReadPace | undefined;
  /** Puts a border before a connection; `ended` is told when that ends it. `openBorders` (platform/http2/borders) makes it. */
  readonly openBorder: (
    socket: Socket,
    ended: (end: ConnectionEnd) => void,
    turns: CallTurns | undefined,
    reads: ReadPace | undefined,
  ) => Border;
  /** Counts accepted, refused and ended connections: BrokerMetrics.connection (platform/metrics/broker-metrics). */
  readonly count: (what: 'accepted' | 'refused' | 'ended') => void;
}

/** A connection that was let in. */
interface Admitted {
  readonly caller: Caller | undefined;
  readonly firstReadInMs: number;
  readonly mayGiveWay: ((connection: Yielding) => void) | undefined;
}

/** Accepts connections on the sockets of the broker that users may reach. */
export class ConnectionGate<Socket extends AcceptedSocket, Border extends Throttled> {
  readonly #ports: ConnectionGatePorts<Socket, Border>;
  readonly #runs: RefusalRuns;
  readonly #paces: CallPaces;
  /** Connections that were let in and wait for their turn, or have it now. */
  readonly #admitted = new WeakMap<Socket, Admitted>();
  /** While waiting connections are turned away: the processes that had one refused just now, and whether their next one is. */
  #refused: Map<string, () => boolean> | undefined;

  constructor(ports: ConnectionGatePorts<Socket, Border>) {
    this.#ports = ports;
    const now = (): number => ports.clock.mono();
    this.#runs = new RefusalRuns(now);
    this.#paces = new CallPaces({ now, ...ports, isEnforced: () => ports.budget.isEnforced });
  }

  /**
   * Judges an accepted connection, and has that of an ordinary user wait for its turn: one is taken up in a turn of the event loop, of
   * one user after the other. The kernel's queue is first come, first served, and a thousand that come together would have everybody
   * behind them wait until each of them stands. So those behind a waiting one are taken out of it, many at once, and root's are taken
   * up. What waits is counted as open, and so bounded as connections are.
   *
   * @param go called once when it is to be taken by `accept`: now, or in its turn; not at all where it was refused and closed
   */
  readonly inTurn = (socket: Socket, go: () => void): void => {
    const admitted = this.#admit(socket);
    if (admitted === undefined) return;
    this.#admitted.set(socket, admitted);
    const come = (): void => {
      if (!socket.destroyed) go();
    };
    if (this.#ports.reads(admitted.caller?.uid)?.takeUp(0, come) ?? true) go();
    else this.#turnAwayMore(socket);
  };

  /** Takes an accepted connection, which is judged now unless it was; undefined: it was refused and closed. */
  readonly accept = (socket: Socket): GuardedConnection<Border> | undefined => {
    const admitted = this.#admitted.get(socket) ?? this.#admit(socket);
    return admitted && this.#guard(socket, admitted);
  };

  /** Identifies the caller and asks the budget; undefined: it was refused and closed. */
  #admit(socket: Socket): Admitted | undefined {
    const { reserve, peers, budget, count } = this.#ports;
    if (this.#isTurnedAway(peers.uidOf(socket))) {
      socket.destroy();
      this.#turnAwayMore(socket);
      return undefined;
    }
    const caller = peers.peerOf(socket);
    if (!reserve.hasRoom(socket) && !budget.makeRoom(caller)) {
      count('refused'); // DescriptorReserve tells it once: it says nothing about this peer
      socket.destroy();
      return undefined;
    }
    const verdict = budget.admit(caller);
    if (!verdict.ok) {
      this.#refuse(caller, verdict.code, verdict.sentence, socket);
      if (verdict.refusesNext !== undefined) this.#turnAwayMore(socket, caller, verdict.refusesNext);
      return undefined;
    }
    const firstReadInMs = this.#runs.firstReadInMs(caller);
    if (firstReadInMs === undefined) {
      verdict.release();
      const why = 'connections of it are cut off again and again, and enough of them wait';
      this.#refuse(caller, 'CUT_OFF_AGAIN', why, socket);
      return undefined;
    }
    count('accepted');
    socket.once('close', verdict.release);
    return { caller, firstReadInMs, mayGiveWay: verdict.mayGiveWay };
  }

  /** Refuses a connection by its uid alone, at next to no cost; reported once. */
  readonly #isTurnedAway = (uid: number | undefined): boolean => {
    const turnedAway = this.#ports.budget.turnsAway(uid);
    if (turnedAway === undefined || uid === undefined) return false;
    this.#ports.count('refused');
    const caller: Caller = { uid, gid: undefined, pid: undefined, startTime: undefined, source: 'peercred' };
    if (turnedAway.sentence !== undefined) this.#say(caller, 'CONNECTION_FLOOD', turnedAway.sentence);
    return true;
  };

  /**
   * Also closes connections of the same user or process that wait behind a refused one, at next to no cost. Callers that are
   * refused among them join this pass, so that the queue is gone through once, not once for each of them.
   */
  #turnAwayMore(socket: Socket, caller?: Caller, refusesNext?: () => boolean): void {
    const isFirst = this.#refused === undefined;
    const refused = (this.#refused ??= new Map<string, () => boolean>());
    if (refusesNext !== undefined) refused.set(`${String(caller?.uid)} ${String(caller?.pid)}`, refusesNext);
    if (!isFirst) return;
    try {
      this.#ports.peers.turnAwayMore(socket, (uid, pid) => {
        if (this.#isTurnedAway(uid)) return true;
        const isRefused = refused.get(`${String(uid)} ${String(pid)}`)?.() === true;
        if (isRefused) this.#ports.count('refused');
        return isRefused;
      });
    } finally {
      this.#refused = undefined;
    }
  }

  #guard(socket: Socket, { caller, firstReadInMs, mayGiveWay }: Admitted): GuardedConnection<Border> {
    const runs = this.#runs;
    const ended = ({ code, message }: ConnectionEnd): void => {
      this.#ports.count('ended');
      this.#say(caller, code, message);
      if (!NORMAL_ENDS.has(code) && runs.cutOff(caller)) this.#saySlowed(caller);
    };
    const reads = caller && this.#ports.reads(caller.uid, processKey(caller));
    const border = this.#ports.openBorder(socket, ended, this.#paces.usual(caller), reads);
    const afterRefusals = this.#paces.afterRefusals(caller);
    const slowDown = (): void => border.throttle(SLOW_READ_MS, afterRefusals);
    border.readLater(firstReadInMs);
    if (runs.isRefused(caller)) {
      border.throttleAfterOneCall(SLOW_READ_MS, afterRefusals, this.#paces.firstAfterRefusals(caller));
    }
    const run = new ConnectionRun();
    mayGiveWay?.({
      isIdle: () => border.isIdle,
      hasCalled: () => run.wasAccepted,
      giveWay: () => {
        this.#ports.count('ended');
        const why = border.isIdle ? 'it was idle, and' : 'its user had more than half of all connections, and it';
        this.#say(caller, 'GAVE_WAY', `${why} gave way to a connection of another process`);
        socket.destroy();
      },
    });
    const answered = (isAccepted: boolean): void => {
      if (isAccepted) {
        runs.accepted(caller);
        run.accepted();
        return;
      }
      runs.refused(caller);
      if (run.refused()) slowDown();
    };
    const cutOff = (message: string): void => {
      ended({ code: 'UNREAD_BYTES', message });
      socket.destroy();
    };
    return { caller, stream: border, slowDown, answered, cutOff };
  }

  #refuse(caller: Caller | undefined, code: string, message: string, socket: Socket): void {
    this.#ports.count('refused');
    this.#say(caller, code, message);
    socket.destroy();
  }

  #say(caller: Caller | undefined, code: string, message: string): void {
    const sentence = `connection of ${whoIs(caller)} ended: ${message}`;
    if (!NORMAL_ENDS.has(code)) this.#warn('connection.ended', caller, code, sentence);
    else this.#ports.log.debug('connection.ended', sentence, { code, uid: caller?.uid, pid: caller?.pid });
  }

  #saySlowed(caller: Caller | undefined): void {
    const message = `${whoIs(caller)} is cut off again and again: its further connections are read in turns until a call of it is accepted, or it pauses`;
    this.#warn('connection.slowed', caller, 'CUT_OFF_AGAIN', message);
  }

  #warn(event: string, caller: Caller | undefined, code: string, message: string): void {
    this.#ports.events.record({ type: 'connection', reason: code, message });
    this.#ports.log.warn(event, message, { code, uid: caller?.uid, pid: caller?.pid });
  }
}

function whoIs(caller: Caller | undefined): string {
  return caller === undefined ? 'an unknown process' : `pid ${String(caller.pid ?? '?')} (uid ${String(caller.uid)})`;
}
