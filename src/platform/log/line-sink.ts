// Lines on their way to stderr. The daemon must not wait for their reader: a pipe that is not read fills a bounded queue, then
// lines are dropped and counted; a pipe that was closed takes nothing more and harms nobody. Lines of one turn of the loop go out
// together at its end, warnings at once: a hundred plugins are many lines, and a write costs more than one. Lines gathered in the
// turn in which the process is killed, or hangs, are lost.
import type { Writable } from 'node:stream';
import type { Clock } from '../../kernel/clock.js';
import { nextTurn } from '../time/next-turn.js';

/** Characters that may wait for the reader of stderr. */
const LONGEST_QUEUE = 2 ** 20;
/** Gathered lines are handed over at once beyond this: the reader has had no chance yet to take them. */
const LONGEST_BATCH = 2 ** 16;

/** Failures of a file that may be over at the next line. */
const MAY_PASS: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG', 'EIO']);

/** Writes lines to a stream that may be stuck or closed. Never throws. */
export class LineSink {
  readonly #stream: Writable;
  readonly #describeDropped: (count: number) => string;
  #isBroken = false;
  #dropped = 0;
  #gathered = '';
  #lines = 0;

  /** @param describeDropped the line that tells, when there is room again, how many are missing */
  constructor(stream: Writable, describeDropped: (count: number) => string) {
    this.#stream = stream;
    this.#describeDropped = describeDropped;
    // Stays for the life of the process: without it the first line after the reader left would end the daemon. A full disk is
    // another matter: a file may find room again.
    stream.on('error', (failure: NodeJS.ErrnoException) => {
      this.#isBroken ||= stream.destroyed || !MAY_PASS.has(failure.code ?? '');
    });
  }

  /** Lines that were dropped and not told yet. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Takes one line with its newline, or drops it. */
  write(line: string): void {
    if (this.#isBroken || this.#stream.writableLength + this.#gathered.length + line.length > LONGEST_QUEUE) {
      this.#dropped++;
      return;
    }
    if (this.#lines === 0) void nextTurn().then(this.handOver);
    this.#gathered += line;
    this.#lines++;
    if (this.#gathered.length > LONGEST_BATCH) this.handOver();
  }

  /** Hands over the lines of this turn of the loop: for urgent ones, and for the end of the process. */
  readonly handOver = (): void => {
    if (this.#lines === 0) return;
    const before = this.#dropped;
    const all = before + this.#lines;
    const text = (before > 0 ? this.#describeDropped(before) : '') + this.#gathered;
    this.#gathered = '';
    this.#lines = 0;
    this.#dropped = 0;
    this.#stream.write(text, (failure) => {
      if (failure) this.#dropped += all;
    });
  };

  /** Resolves when all lines taken are out, or after `withinMs`. */
  flush(clock: Clock, withinMs: number): Promise<void> {
    this.handOver();
    if (this.#isBroken || this.#stream.writableLength === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const alarm = clock.alarm(withinMs, resolve);
      this.#stream.write('', () => {
        alarm.cancel();
        resolve();
      });
    });
  }
}
