// The pictures' past, made of the events that the journal keeps anyway: nothing is gathered while nobody looks, and a
// restart loses nothing. Pure.
import type { BrokerEvent } from '../model/event.js';
import type { CapacityStep, PluginHistory, Start } from '../model/page-views.js';
import type { PluginView, ResourceView } from '../model/views.js';

/** How far back bars go, milliseconds. */
export const SPAN_MS = 15 * 60_000;
/** Steps of a resource's line. */
const MOST_STEPS = 64;
/** Starts that are listed. */
const MOST_STARTS = 10;
/** States in which healthy devices may be given out (docs/specification.md#sessions-and-states). */
const USABLE: ReadonlySet<string> = new Set(['ready', 'orphaned', 'restored']);

/** The states of a plugin within the span; its present state, where it is known, counts more than the events. */
export function pluginHistory(
  events: readonly BrokerEvent[],
  primary: PluginView | undefined,
  now: number,
): PluginHistory {
  const from = now - SPAN_MS;
  const since = primary === undefined ? Infinity : Date.parse(primary.stateSince);
  let spans: [number, string, string][] = [];
  const calls: [number, string][] = [];
  for (const event of events) {
    const at = Date.parse(event.time);
    const state = textOf(event, 'state');
    if (state !== undefined && at < since && spans.at(-1)?.[1] !== state) {
      if (at <= from) spans = [];
      spans.push([Math.max(at, from), state, event.reason]);
    }
    if (at > from && isCall(event)) calls.push([at, event.type === 'refused' ? event.reason : '']);
  }
  if (primary !== undefined) {
    if (since <= from) spans = [];
    spans.push([Math.max(since, from), primary.state, primary.reason]);
  }
  return { spans, calls };
}

/** Whether an event tells of a Register call. */
function isCall({ type, reason }: BrokerEvent): boolean {
  return type === 'refused' || (type === 'registered' && reason === 'registered');
}

/** How many devices a resource had, and how many of them could be given out. */
export function capacityHistory(
  events: readonly BrokerEvent[],
  resource: Pick<ResourceView, 'capacity' | 'allocatable'>,
  now: number,
): CapacityStep[] {
  const from = now - SPAN_MS;
  const steps: CapacityStep[] = [];
  let devices: number | undefined;
  let healthy = 0;
  let isUsable = true;
  for (const event of events) {
    const counted = event.facts?.['devices'];
    const state = textOf(event, 'state');
    if (event.type === 'devices' && typeof counted === 'number') {
      devices = counted;
      healthy = Number(event.facts?.['healthy'] ?? 0);
    } else if (state !== undefined) isUsable = USABLE.has(state);
    else continue;
    if (devices === undefined) continue;
    const at = Date.parse(event.time);
    if (at <= from) steps.length = 0;
    add(steps, [Math.max(at, from), devices, isUsable ? healthy : 0]);
  }
  const { capacity, allocatable } = resource;
  const last = steps.at(-1);
  // Changes without an event count all the same.
  if (last?.[1] !== capacity || last[2] !== allocatable)
    add(steps, [last === undefined ? from : now, capacity, allocatable]);
  return steps.slice(-MOST_STEPS);
}

function add(steps: CapacityStep[], step: CapacityStep): void {
  const last = steps.at(-1);
  if (last?.[1] !== step[1] || last[2] !== step[2]) steps.push(step);
}

/** The last starts of the broker, newest first. */
export function startsOf(events: readonly BrokerEvent[]): Start[] {
  const starts: Start[] = [];
  for (const event of events) {
    const after = textOf(event, 'start');
    const last = starts.at(-1);
    if (after !== undefined) {
      const unknown = { confirmed: -1, settling: -1, total: -1, ms: -1 };
      starts.push({ at: event.time, after, restored: numberOf(event, 'restored'), ...unknown });
    } else if (event.facts?.['settled'] !== undefined && last !== undefined) {
      const ms = numberOf(event, 'settled');
      const [confirmed, settling] = [numberOf(event, 'confirmed'), numberOf(event, 'settling')];
      starts[starts.length - 1] = { ...last, confirmed, settling, total: numberOf(event, 'total'), ms };
    }
  }
  return starts.slice(-MOST_STARTS).reverse();
}

function textOf(event: BrokerEvent, fact: string): string | undefined {
  const value = event.facts?.[fact];
  return typeof value === 'string' ? value : undefined;
}

function numberOf(event: BrokerEvent, fact: string): number {
  const value = event.facts?.[fact];
  return typeof value === 'number' ? value : -1;
}
