// Lines on their way to stderr. Nobody may have to wait for whoever reads them: a pipe that is not read fills a bounded
// queue, then lines are dropped and counted; a pipe that was closed takes nothing more and harms nobody. Lines of one turn
// of the loop go out together at its end: a hundred plugins at once are a thousand lines, and a write costs more than one.
import type { Writable } from 'node:stream';
import type { Clock } from '../../kernel/clock.js';
import { nextTurn } from '../time/next-turn.js';

/** Bytes that may wait for the reader of stderr. */
const LONGEST_QUEUE = 2 ** 20;

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
    // Stays for the life of the process: without it the first line after the reader left would end the daemon.
    stream.on('error', () => (this.#isBroken = true));
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
    if (this.#dropped > 0) {
      const missing = this.#describeDropped(this.#dropped);
      this.#dropped = 0;
      this.#gather(missing);
    }
    this.#gather(line);
  }

  /** Hands over what was gathered in this turn of the loop; for the end of the process, which has no next turn. */
  readonly handOver = (): void => {
    const [text, lines] = [this.#gathered, this.#lines];
    this.#gathered = '';
    this.#lines = 0;
    if (lines === 0) return;
    try {
      this.#stream.write(text);
    } catch {
      // A file on a full disk: the next line may find room.
      this.#dropped += lines;
    }
  };

  /** Resolves when what was taken is out, or after `withinMs`. */
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

  #gather(line: string): void {
    if (this.#lines === 0) void nextTurn().then(this.handOver);
    this.#gathered += line;
    this.#lines++;
  }
}
