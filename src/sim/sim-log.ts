// A simulated plugin's log of itself: one JSON object a line, for tests and other programs to wait on.
import { visibleInJson } from '../kernel/visible.js';

/** Facts of one line. */
export type SimFacts = Readonly<Record<string, unknown>>;

/** Lines of one event that are written in one second, unless it is said otherwise. */
const LINES_PER_SECOND = 20;

/** Writes lines `{time, pid, event, …}`. A flood of one event becomes one line `{event, more}` each second. */
export class SimLog {
  readonly #write: (line: string) => void;
  readonly #written = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;
  readonly #perSecond: number;

  /**
   * @param write takes one line with its end
   * @param linesPerSecond of one event; further ones are only counted
   */
  constructor(write: (line: string) => void, linesPerSecond = LINES_PER_SECOND) {
    this.#write = write;
    this.#perSecond = linesPerSecond;
    this.#timer = setInterval(() => this.#nextSecond(), 1_000);
    this.#timer.unref();
  }

  /** Something happened. */
  say(event: string, facts: SimFacts = {}): void {
    const written = (this.#written.get(event) ?? 0) + 1;
    this.#written.set(event, written);
    if (written <= this.#perSecond) this.#line(event, facts);
  }

  /** Writes the counted ones, and ends. */
  close(): void {
    clearInterval(this.#timer);
    this.#nextSecond();
  }

  #nextSecond(): void {
    for (const [event, written] of this.#written) {
      if (written > this.#perSecond) this.#line(event, { more: written - this.#perSecond });
    }
    this.#written.clear();
  }

  #line(event: string, facts: SimFacts): void {
    const time = new Date().toISOString();
    this.#write(`${visibleInJson(JSON.stringify({ time, pid: process.pid, event, ...facts }))}\n`);
  }
}
