// Keeps a flood from moving to the disk: the first of many like events and log lines is told, the rest is counted and
// told as one line, "417 more in 10 s".
import type { Alarm, Clock } from '../kernel/clock.js';
import type { Log, LogFields } from '../kernel/log.js';
import type { EventDraft, EventSink, EventType } from '../model/event.js';
import { seconds } from './sentences.js';

/** The first summary comes after this long; while repeats go on, each following one takes twice as long. */
const FIRST_WINDOW_MS = 10_000;
const LONGEST_WINDOW_MS = 300_000;
/** Subjects counted apart; further ones are counted together. */
const MAX_SUBJECTS = 512;
/** Events that are told in full only once in a while; all others are rare by themselves. */
const REPEATED: ReadonlySet<EventType> = new Set(['refused', 'flood', 'connection']);

interface Repeats {
  count: number;
  windowMs: number;
  alarm: Alarm;
  /** Tells how many more there were, in the words of the last of them. */
  tell: (count: number, windowMs: number) => void;
}

/** Lets the first of its kind pass and summarises the following ones. Bounded in subjects and in timers. */
export class RefusalSummary {
  readonly #clock: Clock;
  readonly #repeats = new Map<string, Repeats>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many subjects are being counted. */
  get size(): number {
    return this.#repeats.size;
  }

  /**
   * Whether this one is to be told in full. Otherwise it is counted, and `tell` is called at the end of the window with
   * the number of those that were not told.
   */
  isFirst(subject: string, tell: Repeats['tell']): boolean {
    const key = this.#repeats.has(subject) || this.#repeats.size < MAX_SUBJECTS ? subject : '';
    const known = this.#repeats.get(key);
    if (known !== undefined) {
      known.count += 1;
      known.tell = tell;
      return false;
    }
    this.#repeats.set(key, {
      count: 0,
      windowMs: FIRST_WINDOW_MS,
      alarm: this.#windowEnds(key, FIRST_WINDOW_MS),
      tell,
    });
    return true;
  }

  /** A sink that passes events on, repeats of one plugin, socket and reason summarised. */
  events(sink: EventSink): EventSink {
    return {
      record: (event) => {
        if (!REPEATED.has(event.type) || this.isFirst(subjectOf(event), tellEvent(sink, event))) sink.record(event);
      },
    };
  }

  /** A log that passes lines on, repeats of warnings with one event name, code and plugin summarised. */
  log(log: Log): Log {
    const warn: Log['warn'] = (event, message, fields) => {
      const subject = `log ${event} ${text(fields, 'code')} ${text(fields, 'plugin')}`;
      const tell: Repeats['tell'] = (count, ms) => log.warn(event, more(count, ms, message), fields);
      if (this.isFirst(subject, tell)) log.warn(event, message, fields);
    };
    return { error: log.error.bind(log), warn, info: log.info.bind(log), debug: log.debug.bind(log) };
  }

  /** Tells what was counted and stops. */
  close(): void {
    for (const { count, windowMs, alarm, tell } of this.#repeats.values()) {
      alarm.cancel();
      if (count > 0) tell(count, windowMs);
    }
    this.#repeats.clear();
  }

  #windowEnds(key: string, windowMs: number): Alarm {
    return this.#clock.alarm(windowMs, () => {
      const repeats = this.#repeats.get(key);
      if (repeats === undefined) return;
      if (repeats.count === 0) {
        this.#repeats.delete(key);
        return;
      }
      repeats.tell(repeats.count, repeats.windowMs);
      repeats.count = 0;
      repeats.windowMs = Math.min(LONGEST_WINDOW_MS, repeats.windowMs * 2);
      repeats.alarm = this.#windowEnds(key, repeats.windowMs);
    });
  }
}

function subjectOf(event: EventDraft): string {
  return `${event.type} ${event.reason ?? ''} ${event.plugin ?? ''}`;
}

function tellEvent(sink: EventSink, event: EventDraft): Repeats['tell'] {
  return (count, windowMs) => sink.record({ ...event, message: more(count, windowMs, event.message) });
}

function more(count: number, windowMs: number, last: string): string {
  return `${String(count)} more in ${seconds(windowMs)}, the last: ${last}`;
}

function text(fields: LogFields | undefined, key: string): string {
  const value = fields?.[key];
  return typeof value === 'string' ? value : '';
}
