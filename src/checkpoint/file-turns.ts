// When files beside the checkpoint are written: each takes the disk for as long as a generation does, and whoever waits for a
// generation waits for those that are written before it. Pure but for the clock.
import type { Clock } from '../kernel/clock.js';
import { restMs } from '../kernel/pace.js';

/** Files that are written at a time, while nobody waits: somebody who comes meanwhile waits for these. */
const FILES_AT_ONCE = 4;
/** On a disk that took longer than this for a turn it is one at a time. */
const SLOW_MS = 20;
/** Before one generation for which nobody waits, files are begun for so long: it has to be written within `checkpoint.writeDeadline`. */
const ALONE_MS = 250;
/** Beside others who wait, files have a tenth of the time: after a turn they rest for so many times as long. */
const REST = 9;

/** Turns of files, before generations. */
export class FileTurns {
  readonly #clock: Pick<Clock, 'mono'>;
  #lastMs = 0;
  #restsUntil = -Infinity;

  constructor(clock: Pick<Clock, 'mono'>) {
    this.#clock = clock;
  }

  /**
   * Takes the turns before one generation. Rejects as `write` does.
   *
   * @param isAwaited somebody waits for the generation: one turn at most, and none before the rest after the last one is over
   * @param write writes so many files
   * @param goesOn whether files wait, and still nobody else does
   */
  async before(isAwaited: boolean, write: (files: number) => Promise<void>, goesOn: () => boolean): Promise<void> {
    const from = this.#clock.mono();
    if (isAwaited && from < this.#restsUntil) return;
    do await this.#turn(isAwaited || this.#lastMs > SLOW_MS ? 1 : FILES_AT_ONCE, write);
    while (!isAwaited && goesOn() && this.#clock.mono() - from < ALONE_MS);
  }

  async #turn(files: number, write: (files: number) => Promise<void>): Promise<void> {
    const from = this.#clock.mono();
    try {
      await write(files);
    } finally {
      const now = this.#clock.mono();
      this.#lastMs = now - from;
      this.#restsUntil = now + restMs(this.#lastMs, REST);
    }
  }
}
