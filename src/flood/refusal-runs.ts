// Which processes are refused again and again: their connections are read slowly (contract 4), also the next ones, so
// that nobody keeps the pace of a flood by connecting anew.
import { processKey, type Caller } from '../model/ids.js';
import { makeRoom } from './make-room.js';

/** Refusals in a row after which a peer is read only now and then. */
const LONG_RUN = 16;
/** Who was not refused for so long has stopped calling. */
const FORGOTTEN_AFTER_MS = 10_000;
/** Processes that are remembered at most. */
const MOST = 1_024;

interface Run {
  readonly refusals: number;
  readonly atMs: number;
}

/** Refusals in a row, by process. A process whose pid is unknown is nobody in particular and is not counted. */
export class RefusalRuns {
  readonly #now: () => number;
  readonly #runs = new Map<string, Run>();

  /** @param now milliseconds on the monotonic scale */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Whether the process is in a long run. */
  isLong(caller: Caller | undefined): boolean {
    const run = caller?.pid === undefined ? undefined : this.#runs.get(processKey(caller));
    return run !== undefined && run.refusals >= LONG_RUN && !this.#isOver(run);
  }

  /** A call was refused. */
  refused(caller: Caller | undefined): void {
    if (caller?.pid === undefined) return;
    const key = processKey(caller);
    const run = this.#runs.get(key);
    const refusals = run === undefined || this.#isOver(run) ? 0 : run.refusals;
    if (run === undefined && this.#runs.size >= MOST && !this.#evict()) return;
    this.#runs.set(key, { refusals: refusals + 1, atMs: this.#now() });
  }

  /** A call was accepted: its process does something right. */
  accepted(caller: Caller | undefined): void {
    if (caller?.pid !== undefined) this.#runs.delete(processKey(caller));
  }

  #isOver({ atMs }: Run): boolean {
    return this.#now() - atMs > FORGOTTEN_AFTER_MS;
  }

  #evict(): boolean {
    return makeRoom(this.#runs, (run) => this.#isOver(run)) !== undefined;
  }
}

/** The same of one connection: it is slow from its sixteenth refusal in a row. */
export class ConnectionRun {
  #refusals = 0;

  /** Counts; returns whether the connection is to be read slowly from now on. */
  refused(): boolean {
    this.#refusals += 1;
    return this.#refusals >= LONG_RUN;
  }

  /** A call was accepted. */
  accepted(): void {
    this.#refusals = 0;
  }
}
