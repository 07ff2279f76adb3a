// One event, one line of JSON; the last line of a journal that was closed says so.
import { believable } from '../kernel/counter.js';
import { ifPossible } from '../kernel/if-possible.js';
import { visibleInJson } from '../kernel/visible.js';
import { EVENT_TYPES, type BrokerEvent, type EventFacts } from '../model/event.js';

/** The meaning of a line. */
export type Line =
  | { readonly kind: 'event'; readonly event: BrokerEvent }
  /** All events up to this number are in the file. */
  | { readonly kind: 'closed'; readonly seq: number }
  | { readonly kind: 'damaged' };

const MAX_FACTS = 8;
const MAX_FACT = 256;

const TYPES: ReadonlySet<unknown> = new Set(EVENT_TYPES);

/** The line of an event, ended by a line feed. Nothing in it is unseen: people read the file with `tail`, and plugins choose parts of it. */
export function eventLine(event: BrokerEvent): string {
  return `${visibleInJson(JSON.stringify(event))}\n`;
}

/** The line that ends a journal. */
export function closedLine(seq: number): string {
  return `${JSON.stringify({ closed: seq })}\n`;
}

/** Understands a line. Anything can stand there: a torn write, a newer version's event, an editor's work. */
export function parseLine(line: string): Line {
  const value = ifPossible((): unknown => JSON.parse(line));
  if (typeof value !== 'object' || value === null) return { kind: 'damaged' };
  const { closed, time, seq, type, reason, plugin, socket, message, facts } = value as Partial<Record<string, unknown>>;
  if (isSeq(closed)) return { kind: 'closed', seq: closed };
  if (!isSeq(seq) || !TYPES.has(type)) return { kind: 'damaged' };
  if (!isText(time) || !isText(reason) || !isText(plugin) || !isText(socket) || !isText(message)) {
    return { kind: 'damaged' };
  }
  const event = { time, seq, type: type as BrokerEvent['type'], reason, plugin, socket, message };
  return { kind: 'event', event: isFacts(facts) ? { ...event, facts } : event };
}

/** Facts that only serve drawings are left out where they make no sense: the event is true without them. */
function isFacts(value: unknown): value is EventFacts {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const all = Object.values(value);
  return all.length <= MAX_FACTS && all.every((one) => (isText(one) && one.length <= MAX_FACT) || Number.isFinite(one));
}

/** A number that nobody can have counted to would leave none for the events to come. */
function isSeq(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0 && believable(value as number) === value;
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
