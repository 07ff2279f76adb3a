// Events on their way to the file: gathered for a moment, appended in one go, and the file made small again when it has
// grown. A disk that fails costs events, never anybody's time.
import { sleep, type Alarm, type Clock } from '../kernel/clock.js';
import type { BrokerEvent } from '../model/event.js';
import { closedLine, eventLine } from './event-line.js';
import type { JournalFile } from './ports.js';

/** How long events are gathered. A broker that is killed loses at most these. */
const GATHER_MS = 50;
/** The wait after a failed append. */
const RETRY_MS = 5000;
/** Events that wait for the disk; beyond it the oldest are given up. */
const MAX_WAITING = 2000;
/** The file is made small at this size, or at twice what it was after the last time. */
const MAX_BYTES = 4 * 1024 * 1024;
/** The same, for a file that was never read: its events are lost then. */
const LAST_RESORT_BYTES = 16 * MAX_BYTES;
/** Events encoded without a pause. */
const SLICE = 500;

/** Writes events to the file. One operation at a time. */
export class Spool {
  readonly #file: JournalFile;
  readonly #clock: Clock;
  /** Everything that should be in the file when it is made small. */
  readonly #kept: () => readonly BrokerEvent[];
  #waiting: BrokerEvent[] = [];
  #alarm: Alarm | undefined;
  #writing: Promise<boolean> | undefined;
  #bytes = 0;
  #limit = LAST_RESORT_BYTES;
  /** The file may end within a line. */
  #isTorn = true;
  #isClosed = false;

  constructor(file: JournalFile, clock: Clock, kept: () => readonly BrokerEvent[]) {
    this.#file = file;
    this.#clock = clock;
    this.#kept = kept;
  }

  /** The events of the file are in memory now, so that it may be made small. */
  found(bytes: number): void {
    this.#bytes += bytes;
    this.#limit = MAX_BYTES;
    if (this.#isLong) this.#schedule(GATHER_MS);
  }

  /** Has an event written in a moment. */
  add(event: BrokerEvent): void {
    if (this.#isClosed) return;
    this.#waiting.push(event);
    if (this.#waiting.length > MAX_WAITING) this.#waiting.shift();
    this.#schedule(GATHER_MS);
  }

  /** Writes waiting events and a last line, and nothing after that. Rejects when the disk does not take it. */
  async close(seq: number): Promise<void> {
    this.#isClosed = true;
    this.#alarm?.cancel();
    this.#alarm = undefined;
    await this.#writing;
    if (!(await this.#append(this.#waiting.splice(0), closedLine(seq)))) throw new Error('the disk does not take them');
  }

  get #isLong(): boolean {
    return this.#bytes >= this.#limit;
  }

  #schedule(delayMs: number): void {
    if (this.#alarm !== undefined || this.#writing !== undefined || this.#isClosed) return;
    this.#alarm = this.#clock.alarm(delayMs, () => {
      this.#alarm = undefined;
      this.#writing = this.#write();
    });
  }

  /** Never rejects. False: the disk did not take it. */
  async #write(): Promise<boolean> {
    const isWritten = this.#isLong ? await this.#shrink() : await this.#append(this.#waiting.splice(0), '');
    this.#writing = undefined;
    // The file may have turned out to be long while this was written (`found`); nobody else would look again.
    if (this.#waiting.length > 0 || this.#isLong) this.#schedule(isWritten ? GATHER_MS : RETRY_MS);
    return isWritten;
  }

  async #append(events: BrokerEvent[], end: string): Promise<boolean> {
    // A line of its own, even if a crash left half a line at the end; empty lines are skipped when the file is read.
    const text = (this.#isTorn ? '\n' : '') + events.map(eventLine).join('') + end;
    this.#isTorn = true;
    try {
      await this.#file.append(text);
    } catch {
      this.#waiting = [...events, ...this.#waiting].slice(-MAX_WAITING);
      return false;
    }
    this.#isTorn = false;
    this.#bytes += Buffer.byteLength(text);
    return true;
  }

  /** Writes the events in memory as a new file; that includes all that wait now. */
  async #shrink(): Promise<boolean> {
    const events = this.#kept();
    const last = events.at(-1)?.seq ?? 0;
    const slices: string[] = [];
    for (let at = 0; at < events.length; at += SLICE) {
      slices.push(
        events
          .slice(at, at + SLICE)
          .map(eventLine)
          .join(''),
      );
      await sleep(this.#clock, 0);
    }
    const text = slices.join('');
    try {
      await this.#file.replace(text);
    } catch {
      return false;
    }
    this.#isTorn = false;
    this.#waiting = this.#waiting.filter((event) => event.seq > last);
    this.#bytes = Buffer.byteLength(text);
    this.#limit = Math.max(MAX_BYTES, 2 * this.#bytes);
    return true;
  }
}
