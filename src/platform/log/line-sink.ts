// Lines on their way to stderr. Nobody may have to wait for whoever reads them: a pipe that is not read fills a bounded
// queue, then lines are dropped and counted; a pipe that was closed takes nothing more and harms nobody.
import type { Writable } from 'node:stream';
import type { Clock } from '../../kernel/clock.js';

/** Bytes that may wait for the reader of stderr. */
const LONGEST_QUEUE = 2 ** 20;

/** Writes lines to a stream that may be stuck or closed. Never throws. */
export class LineSink {
  readonly #stream: Writable;
  readonly #describeDropped: (count: number) => string;
  #isBroken = false;
  #dropped = 0;

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
    if (this.#isBroken || this.#stream.writableLength + line.length > LONGEST_QUEUE) {
      this.#dropped++;
      return;
    }
    if (this.#dropped > 0) {
      const missing = this.#describeDropped(this.#dropped);
      this.#dropped = 0;
      this.#push(missing);
    }
    this.#push(line);
  }

  /** Resolves when what was taken is out, or after `withinMs`. */
  flush(clock: Clock, withinMs: number): Promise<void> {
    if (this.#isBroken || this.#stream.writableLength === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const alarm = clock.alarm(withinMs, resolve);
      this.#stream.write('', () => {
        alarm.cancel();
        resolve();
      });
    });
  }

  #push(line: string): void {
    try {
      this.#stream.write(line);
    } catch {
      // A file on a full disk: the next line may find room.
      this.#dropped++;
    }
  }
}
