// How long each step of a stop may take. All of them share 5 s: the steps end before that, so that the last answers and lines
// have their time, and so that a machine which is late with everything is not late with the end.
import { Budget } from './budget.js';
import type { Clock } from './clock.js';

/** After this the process ends in any case: 5 s less the delay of a busy machine. */
const END_MS = 4700;
/** Calls in flight have no longer than this. */
const CALLS_MS = 3000;
/** Then connections are ended, which waits for nobody. */
const CONNECTIONS_MS = 400;
/** Calls and the last write of the checkpoint share this; the last events come after it. */
const STEPS_MS = 3800;
/** Changes not on disk this long after the first write was begun are given up. */
const WRITING_MS = 3000;
/** Of that the checkpoint takes no more than this, so that the last events have their time. */
const FLUSH_MS = 2500;
/** Operators are answered for no longer than this after the stop began where a successor waits: a DaemonSet grants 15 s. */
const LINGER_UNTIL_MS = 12_500;
/** After that, the last answers and lines. */
const AFTER_LINGER_MS = 1500;

/** The budgets of one stop, from the moment it began. */
export class StopBudgets {
  readonly #clock: Clock;
  readonly #calls: Budget;
  readonly #steps: Budget;
  readonly #lingering: Budget;
  #end: Budget;
  #writing: Budget | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#calls = new Budget(clock, CALLS_MS);
    this.#steps = new Budget(clock, STEPS_MS);
    this.#end = new Budget(clock, END_MS);
    this.#lingering = new Budget(clock, LINGER_UNTIL_MS);
  }

  /** Milliseconds for calls in flight. */
  readonly callsMs = (): number => this.#calls.leftMs();

  /** Milliseconds for a door: its calls in flight, and then the end of its connections. */
  doorMs(): number {
    return this.#calls.leftMs() + CONNECTIONS_MS;
  }

  /** Milliseconds for the last write. */
  flushMs(): number {
    return this.#writingMs(FLUSH_MS);
  }

  /** Milliseconds for the last events. */
  eventsMs(): number {
    return Math.max(WRITING_MS - FLUSH_MS, this.#writingMs(WRITING_MS));
  }

  /** Milliseconds for which a successor that waits is answered for. The end comes after them. */
  lingerMs(limitMs: number): number {
    const lingerMs = this.#lingering.leftMs(limitMs);
    this.#end = new Budget(this.#clock, lingerMs + AFTER_LINGER_MS);
    return lingerMs;
  }

  /** Milliseconds until the certain end. @param atMost milliseconds that a last step may take */
  endMs(atMost?: number): number {
    return this.#end.leftMs(atMost);
  }

  /** Both writes are to the same disk: one that hangs is waited for once. */
  #writingMs(atMost: number): number {
    this.#writing ??= new Budget(this.#clock, WRITING_MS);
    return this.#steps.leftMs(this.#writing.leftMs(atMost));
  }
}
