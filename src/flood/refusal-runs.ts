// Which processes are refused, or cut off, again and again: their connections are read slowly, also the next
// ones, so that nobody keeps the pace of a flood by connecting anew.
import { processKey, type Caller } from '../model/ids.js';
import { makeRoom } from './make-room.js';

/** Refusals in a row after which a peer is read only now and then. */
const MANY_REFUSALS = 16;
/** Cut-offs in a row after which the next connections of a process take turns: nobody is cut off by mistake so often. */
const MANY_CUT_OFFS = 4;
/** From one such turn to the next. */
const TURN_MS = 100;
/** Connections of one process that wait for their turn at most: a waiting one is not read, so its end is not seen. */
const MOST_WAITING = 10;
/** A run that has not grown for so long has stopped. */
const FORGOTTEN_AFTER_MS = 10_000;
/** Processes that are remembered at most. */
const MOST = 1_024;

interface Run {
  readonly length: number;
  readonly atMs: number;
  /** When the next connection may be read for the first time. */
  nextTurnMs: number;
}

/** The failures in a row of one process, with no success between. A process whose pid is unknown is not counted. */
class Runs {
  readonly #now: () => number;
  readonly #many: number;
  readonly #runs = new Map<string, Run>();

  constructor(now: () => number, many: number) {
    this.#now = now;
    this.#many = many;
  }

  /** The run of a process, if it is long and still goes on. */
  long(caller: Caller | undefined): Run | undefined {
    const run = caller?.pid === undefined ? undefined : this.#runs.get(processKey(caller));
    return run === undefined || run.length < this.#many || this.#isOver(run) ? undefined : run;
  }

  /** One more; returns whether the run is a long one from now on. */
  add(caller: Caller | undefined): boolean {
    if (caller?.pid === undefined) return false;
    const key = processKey(caller);
    const run = this.#runs.get(key);
    const length = run === undefined || this.#isOver(run) ? 0 : run.length;
    if (run === undefined && this.#runs.size >= MOST && !this.#evict()) return false;
    this.#runs.set(key, { length: length + 1, atMs: this.#now(), nextTurnMs: run?.nextTurnMs ?? 0 });
    return length + 1 === this.#many;
  }

  end(caller: Caller | undefined): void {
    if (caller?.pid !== undefined) this.#runs.delete(processKey(caller));
  }

  #isOver({ atMs }: Run): boolean {
    return this.#now() - atMs > FORGOTTEN_AFTER_MS;
  }

  #evict(): boolean {
    return makeRoom(this.#runs, (run) => run.length < this.#many || this.#isOver(run)) !== undefined;
  }
}

/** Refusals and cut-offs in a row, by process. */
export class RefusalRuns {
  readonly #now: () => number;
  readonly #refusals: Runs;
  readonly #cutOffs: Runs;

  /** @param now milliseconds on the monotonic scale */
  constructor(now: () => number) {
    this.#now = now;
    this.#refusals = new Runs(now, MANY_REFUSALS);
    this.#cutOffs = new Runs(now, MANY_CUT_OFFS);
  }

  /** Whether the process was refused so often that its next connections are to be read slowly after one call. */
  isRefused(caller: Caller | undefined): boolean {
    return this.#refusals.long(caller) !== undefined;
  }

  /**
   * For how long, in milliseconds, a new connection of the process is not looked at; 0 unless the process is in a long run
   * of cut-offs. Each connection that asks has a turn of its own. Undefined: enough of them wait, close this one.
   */
  firstReadInMs(caller: Caller | undefined): number | undefined {
    const run = this.#cutOffs.long(caller);
    if (run === undefined) return 0;
    const now = this.#now();
    const next = Math.max(now, run.nextTurnMs) + TURN_MS;
    if (next - now > MOST_WAITING * TURN_MS) return undefined;
    run.nextTurnMs = next;
    return next - now;
  }

  /** A call was refused. */
  refused(caller: Caller | undefined): void {
    this.#refusals.add(caller);
  }

  /** A connection was cut off for the bytes that came through it. Returns whether its process is slowed down from now on. */
  cutOff(caller: Caller | undefined): boolean {
    return this.#cutOffs.add(caller);
  }

  /** A call was accepted: its process does something right. */
  accepted(caller: Caller | undefined): void {
    this.#refusals.end(caller);
    this.#cutOffs.end(caller);
  }
}

/** The same of one connection: it is slow from its sixteenth refusal in a row. */
export class ConnectionRun {
  #refusals = 0;
  /** A call of it was accepted once. */
  wasAccepted = false;

  /** Counts; returns whether the connection is to be read slowly from now on. */
  refused(): boolean {
    this.#refusals += 1;
    return this.#refusals >= MANY_REFUSALS;
  }

  /** A call was accepted. */
  accepted(): void {
    this.#refusals = 0;
    this.wasAccepted = true;
  }
}
