// Events on their way to the file: gathered for a moment, appended in one go, and the file made small again when it has
// grown. A disk that fails costs events, never anybody's time, and events leave room on it: leases are promises, and they are not.
import { sleep, type Alarm, type Clock } from '../kernel/clock.js';
import { spareBytes, type DiskRoom } from '../kernel/disk-room.js';
import type { Log } from '../kernel/log.js';
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
/** Of a small disk, the part that the file may have at most. Made small it has half of that. */
const FILE_PART = 8;
/** The file grows only where so many bytes, or that part of a small disk, are free besides: generations of the checkpoint need them. */
const KEPT_BYTES = 16 * 1024 * 1024;
const KEPT_PART = 4;
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
  #isRead = false;
  #room: DiskRoom | undefined;
  #lacksRoom = false;
  readonly #log: Pick<Log, 'warn' | 'info'>;
  /** The file may end within a line. */
  #isTorn = true;
  #isClosed = false;

  constructor(file: JournalFile, clock: Clock, kept: () => readonly BrokerEvent[], log: Pick<Log, 'warn' | 'info'>) {
    this.#log = log;
    this.#file = file;
    this.#clock = clock;
    this.#kept = kept;
  }

  /** The events of the file are in memory now, so that it may be made small. */
  found(bytes: number): void {
    this.#bytes += bytes;
    this.#limit = MAX_BYTES;
    this.#isRead = true;
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
    await this.#look();
    const events = this.#waiting.splice(0);
    const isWritten = (await this.#append(events, closedLine(seq))) || (await this.#append([], closedLine(seq)));
    if (!isWritten) throw new Error('the disk does not take them');
  }

  get #isLong(): boolean {
    return this.#bytes >= (this.#isRead ? Math.min(this.#limit, this.#most) : this.#limit);
  }

  /** What the file may have of the disk. */
  get #most(): number {
    return (this.#room?.totalBytes ?? Infinity) / FILE_PART;
  }

  /** What may be added to the disk. */
  get #spare(): number {
    return spareBytes(this.#room, KEPT_BYTES, KEPT_PART);
  }

  async #look(): Promise<void> {
    this.#room = await this.#file.room();
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
    await this.#look();
    const isWritten = this.#isLong ? await this.#shrink() : await this.#append(this.#waiting.splice(0), '');
    this.#writing = undefined;
    // The file may have turned out to be long while this was written (`found`); nobody else would look again.
    if (this.#waiting.length > 0 || this.#isLong) this.#schedule(isWritten ? GATHER_MS : RETRY_MS);
    return isWritten;
  }

  async #append(events: BrokerEvent[], end: string): Promise<boolean> {
    // A line of its own, even if a crash left half a line at the end; empty lines are skipped when the file is read.
    const text = (this.#isTorn ? '\n' : '') + events.map(eventLine).join('') + end;
    const bytes = Buffer.byteLength(text);
    if (events.length > 0 && !this.#hasRoom(bytes)) return this.#putBack(events);
    this.#isTorn = true;
    try {
      await this.#file.append(text);
    } catch {
      return this.#putBack(events);
    }
    this.#isTorn = false;
    this.#bytes += bytes;
    return true;
  }

  /** Whether so much may be added. Told when that changes. */
  #hasRoom(bytes: number): boolean {
    const isFull = bytes > this.#spare;
    if (isFull === this.#lacksRoom) return !isFull;
    this.#lacksRoom = isFull;
    if (isFull) {
      const message = `events are not written to the disk, to leave room for registrations and leases: make room on the disk of the state directory; the newest ${String(MAX_WAITING)} wait in memory`;
      this.#log.warn('journal.without-room', message);
    } else this.#log.info('journal.written', 'events are written to the disk again');
    return !isFull;
  }

  #putBack(events: BrokerEvent[]): false {
    this.#waiting = [...events, ...this.#waiting].slice(-MAX_WAITING);
    return false;
  }

  /** Writes the events in memory as a new file, the newest that have room; that includes those that wait now. */
  async #shrink(): Promise<boolean> {
    const events = this.#kept();
    const last = events.at(-1)?.seq ?? 0;
    const most = Math.min(this.#spare, this.#most / 2);
    const lines: string[] = [];
    let bytes = 0;
    for (let at = events.length - 1; at >= 0; at -= 1) {
      const line = eventLine(events[at] as BrokerEvent);
      bytes += Buffer.byteLength(line);
      if (bytes > most) break;
      lines.push(line);
      if (at % SLICE === 0) await sleep(this.#clock, 0);
    }
    if (!this.#hasRoom(lines.length === 0 ? bytes : 0)) return false;
    const text = lines.reverse().join('');
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
