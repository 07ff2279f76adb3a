// One event, one line of JSON; the last line of a journal that was closed says so.
import { believable } from '../kernel/counter.js';
import { EVENT_TYPES, type BrokerEvent } from '../model/event.js';

/** What a line is. */
export type Line =
  | { readonly kind: 'event'; readonly event: BrokerEvent }
  /** All events up to this number are in the file. */
  | { readonly kind: 'closed'; readonly seq: number }
  | { readonly kind: 'damaged' };

const TYPES: ReadonlySet<unknown> = new Set(EVENT_TYPES);

/** The line of an event, ended by a line feed. */
export function eventLine(event: BrokerEvent): string {
  return `${JSON.stringify(event)}\n`;
}

/** The line that ends a journal. */
export function closedLine(seq: number): string {
  return `${JSON.stringify({ closed: seq })}\n`;
}

/** Understands a line. Anything can stand there: a torn write, a newer version's event, an editor's work. */
export function parseLine(line: string): Line {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return { kind: 'damaged' };
  }
  if (typeof value !== 'object' || value === null) return { kind: 'damaged' };
  const { closed, time, seq, type, reason, plugin, socket, message } = value as Partial<Record<string, unknown>>;
  if (isSeq(closed)) return { kind: 'closed', seq: closed };
  if (!isSeq(seq) || !TYPES.has(type)) return { kind: 'damaged' };
  if (!isText(time) || !isText(reason) || !isText(plugin) || !isText(socket) || !isText(message)) {
    return { kind: 'damaged' };
  }
  return { kind: 'event', event: { time, seq, type: type as BrokerEvent['type'], reason, plugin, socket, message } };
}

/** A number that nobody can have counted to would leave none for the events to come. */
function isSeq(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0 && believable(value as number) === value;
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
