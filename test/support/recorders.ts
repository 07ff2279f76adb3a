import type { Log, LogFields } from '../../src/kernel/log.js';
import type { Metrics } from '../../src/kernel/metrics.js';
import { noMetrics } from './silence.js';
import type { EventDraft, EventSink } from '../../src/model/event.js';

/** A sink that keeps what it is told. */
export class RecordedEvents implements EventSink {
  readonly all: EventDraft[] = [];

  record(event: EventDraft): void {
    this.all.push(event);
  }

  /** The messages of one type, in order. */
  messages(type: EventDraft['type']): readonly string[] {
    return this.all.filter((event) => event.type === type).map((event) => event.message);
  }
}

/** A line of a RecordedLog. */
export interface RecordedLine {
  readonly level: keyof Log;
  readonly event: string;
  readonly message: string;
  readonly fields: LogFields | undefined;
}

/** A log that keeps its lines. */
export class RecordedLog implements Log {
  readonly lines: RecordedLine[] = [];

  error(event: string, message: string, fields?: LogFields): void {
    this.lines.push({ level: 'error', event, message, fields });
  }

  warn(event: string, message: string, fields?: LogFields): void {
    this.lines.push({ level: 'warn', event, message, fields });
  }

  info(event: string, message: string, fields?: LogFields): void {
    this.lines.push({ level: 'info', event, message, fields });
  }

  debug(event: string, message: string, fields?: LogFields): void {
    this.lines.push({ level: 'debug', event, message, fields });
  }
}

/** Counts how often each limit was exceeded with which action. */
export function countedFloods(): { readonly metrics: Metrics; readonly counts: Map<string, number> } {
  const counts = new Map<string, number>();
  const floodExceeded: Metrics['floodExceeded'] = (limit, action) => {
    const key = `${limit} ${action}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  };
  return { metrics: { ...noMetrics, floodExceeded }, counts };
}
