// The journal of all events: numbered, kept in memory for queries, followed by watchers, and written to a file that outlives the
// broker.
import { asError, sleep, withDeadline } from '../kernel/clock.js';
import type { Surroundings } from '../kernel/surroundings.js';
import type { BrokerEvent, EventDraft, EventQuery, EventSink } from '../model/event.js';
import type { UserFacts } from '../model/ids.js';
import { cutDraft } from './cut-draft.js';
import { parseLine } from './event-line.js';
import { Follower } from './follower.js';
import type { JournalFile } from './ports.js';
import { Repeats } from './repeats.js';
import { Spool } from './spool.js';
import { Timeline } from './timeline.js';

/** The end of the file, read at start to learn the last number. */
const TAIL_BYTES = 64 * 1024;
/** Above the kept events of 1,024 plugins; of a longer file, its end counts. */
const FILE_BYTES = 16 * 1024 * 1024;
/**
 * Numbers left out after a life that did not end well: its last events may have been seen by somebody and yet not be in
 * the file, and no number is given twice.
 */
const SAFE_GAP = 1000;
/** How long anybody waits for one look at the file. */
const READ_MS = 1000;
/** How long the disk may take for the events of earlier lives, which nobody waits for any more. */
const EARLIER_MS = 30_000;
/** Lines understood without a pause. */
const SLICE = 500;
/** Events told before the journal is open. */
const MAX_EARLY = 1000;
const MAX_FOLLOWERS = 64;

function lateAfter(limitMs: number): () => Error {
  return () => new Error(`the disk did not give them within ${String(limitMs)} ms`);
}

/** The ports of the journal. */
export interface JournalPorts extends Pick<Surroundings, 'clock' | 'log'>, UserFacts {
  readonly file: JournalFile;
}

/** The events of the broker. `record` from the first moment; `open` once the checkpoint was read; `close` once. */
export class Journal implements EventSink {
  readonly #ports: JournalPorts;
  readonly #timeline = new Timeline();
  readonly #repeats: Repeats;
  readonly #spool: Spool;
  readonly #followers = new Set<Follower>();
  readonly #closing = new AbortController();
  readonly #early: [draft: EventDraft, wall: number][] = [];
  #seq: number | undefined;
  #before: 'first' | 'clean' | 'killed' = 'first';

  constructor(ports: JournalPorts) {
    this.#ports = ports;
    this.#repeats = new Repeats(ports.clock, ports, (draft) => this.#tell(draft, ports.clock.wall()));
    this.#spool = new Spool(ports.file, ports.clock, () => this.#timeline.since(0), ports.log);
  }

  /** The highest number given out; 0 before any. */
  get seq(): number {
    return this.#seq ?? 0;
  }

  /** How the life before this one ended, as far as the file of events tells; known after `open`. */
  get before(): 'first' | 'clean' | 'killed' {
    return this.#before;
  }

  /**
   * Tells that something happened. Of many equal events within ten seconds, and of an ordinary user's beyond its share, most are only
   * counted. Never throws.
   */
  record(event: EventDraft): void {
    this.#repeats.offer(cutDraft(event));
  }

  /**
   * Finds the number to go on with, and numbers the events recorded so far. Never rejects.
   *
   * @param eventSeq the highest number that the checkpoint knows
   * @param leftMs the milliseconds that a step may take, which has this limit of its own: StartBudget.leftMs (kernel/start-budget)
   */
  async open(eventSeq: number, leftMs = (atMost: number): number => atMost): Promise<void> {
    const { seq, isClean } = await this.#lastNumber(leftMs(READ_MS));
    const highest = Math.max(seq, eventSeq);
    this.#before = highest === 0 ? 'first' : isClean ? 'clean' : 'killed';
    this.#seq = highest === 0 || (isClean && seq >= eventSeq) ? highest : highest + SAFE_GAP;
    for (const [draft, wall] of this.#early.splice(0)) this.#tell(draft, wall);
  }

  /**
   * Reads the events of earlier lives into memory. May be called any time after `open`. Ends after a second at the latest: a slow disk
   * keeps nobody waiting, and what it gives later is taken then. Never rejects.
   */
  async restore(): Promise<void> {
    const { clock } = this.#ports;
    await withDeadline(clock, READ_MS, lateAfter(READ_MS), () => this.#earlier()).catch(() => undefined);
  }

  /** The last events of a plugin (`type/name`), oldest first. */
  lastOf(plugin: string): readonly BrokerEvent[] {
    return this.#timeline.lastOf(plugin);
  }

  /** Plugins (`type/name`) of which events are kept. */
  told(): readonly string[] {
    return this.#timeline.plugins();
  }

  /** All events that are kept of one plugin (`type/name`), oldest first. */
  eventsOf(plugin: string): readonly BrokerEvent[] {
    return this.#timeline.keptOf(plugin);
  }

  /** The newest events that are kept of a socket, 500 at most, oldest first: looked for in turns with everything else. */
  eventsAt(socket: string): Promise<readonly BrokerEvent[]> {
    return this.#timeline.find(
      (event) => event.socket === socket,
      () => sleep(this.#ports.clock, 0),
    );
  }

  /** The newest events of all, oldest first. */
  recent(): readonly BrokerEvent[] {
    return this.#timeline.recent();
  }

  /** The last events of the broker's own life, oldest first. */
  lives(): readonly BrokerEvent[] {
    return this.#timeline.lives();
  }

  /**
   * Events, oldest first; ends after the kept ones, or with `follow` when the signal aborts or the journal is closed.
   *
   * @throws Error when a reader is too slow, or when there are too many readers
   */
  async *events({ since, follow }: EventQuery, signal: AbortSignal): AsyncGenerator<BrokerEvent> {
    const kept = this.#timeline.since(since);
    if (!follow) {
      yield* kept;
      return;
    }
    if (this.#followers.size >= MAX_FOLLOWERS) throw new Error(`${MAX_FOLLOWERS} readers follow the events already`);
    const follower = new Follower();
    const stop = (): void => follower.end();
    this.#followers.add(follower);
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    try {
      for (const event of kept) {
        if (signal.aborted) return;
        yield event;
      }
      for (let event = await follower.next(); event !== undefined; event = await follower.next()) {
        if (event.seq >= since) yield event;
      }
    } finally {
      signal.removeEventListener('abort', stop);
      this.#followers.delete(follower);
    }
  }

  /**
   * Reports counted repeats, ends the readers and writes the events that are not in the file yet, for at most `limitMs`. Never
   * rejects.
   */
  async close(limitMs: number): Promise<void> {
    const { clock, log } = this.#ports;
    this.#closing.abort(new Error('the journal is closed'));
    this.#repeats.flush();
    for (const follower of this.#followers) follower.end();
    const late = (): Error => new Error('the disk does not answer');
    await withDeadline(clock, limitMs, late, () => this.#spool.close(this.seq)).catch((failure: unknown) => {
      log.warn('journal.not-closed', `the last events are not in the file: ${asError(failure).message}`);
    });
  }

  #tell(draft: EventDraft, wall: number): void {
    const { type, reason = '', plugin = '', socket = '', message, facts } = draft;
    if (this.#seq === undefined) {
      if (this.#early.length < MAX_EARLY) this.#early.push([draft, wall]);
      return;
    }
    this.#seq += 1;
    const event: BrokerEvent = {
      time: new Date(wall).toISOString(),
      seq: this.#seq,
      type,
      reason,
      plugin,
      socket,
      message,
      ...(facts === undefined ? {} : { facts }),
    };
    this.#timeline.add(event);
    this.#spool.add(event);
    for (const follower of this.#followers) follower.push(event);
  }

  /** Never rejects. */
  async #earlier(): Promise<void> {
    const { file, clock, log } = this.#ports;
    let size = 0;
    try {
      const read = (): Promise<Buffer | undefined> => file.readTail(FILE_BYTES);
      const tail = await withDeadline(clock, EARLIER_MS, lateAfter(EARLIER_MS), read, this.#closing.signal);
      const bytes = tail ?? Buffer.alloc(0);
      size = bytes.length;
      const earlier: BrokerEvent[] = [];
      for (let at = 0, count = 1; at < size; count += 1) {
        const end = bytes.indexOf('\n', at);
        const line = parseLine(bytes.toString('utf8', at, end === -1 ? size : end));
        if (line.kind === 'event') earlier.push(line.event);
        at = end === -1 ? size : end + 1;
        if (count % SLICE === 0) await sleep(clock, 0);
      }
      // An append that failed halfway was done again, so an event may be there twice.
      earlier.sort((a, b) => a.seq - b.seq);
      this.#timeline.prepend(earlier.filter((event, index) => event.seq !== earlier[index + 1]?.seq));
    } catch (failure) {
      if (this.#closing.signal.aborted) return;
      log.warn('journal.unreadable', `the events of earlier lives cannot be read: ${asError(failure).message}`);
    }
    this.#spool.found(size);
  }

  async #lastNumber(limitMs: number): Promise<{ readonly seq: number; readonly isClean: boolean }> {
    const { file, clock, log } = this.#ports;
    try {
      const tail = await withDeadline(clock, limitMs, lateAfter(limitMs), () => file.readTail(TAIL_BYTES));
      if (tail === undefined) return { seq: 0, isClean: false };
      let last = { seq: 0, isClean: false };
      for (const text of tail.toString('utf8').split('\n')) {
        const line = parseLine(text);
        if (line.kind === 'event') last = { seq: Math.max(last.seq, line.event.seq), isClean: false };
        else if (line.kind === 'closed') last = { seq: Math.max(last.seq, line.seq), isClean: true };
        else if (text !== '') last = { ...last, isClean: false };
      }
      return last;
    } catch (failure) {
      log.warn('journal.unreadable', `the last event number cannot be read: ${asError(failure).message}`);
      return { seq: 0, isClean: false };
    }
  }
}
