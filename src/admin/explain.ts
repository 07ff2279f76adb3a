// Explains the state of a plugin and the remedy, from its entries and its timeline. Pure.
import type { BrokerEvent } from '../model/event.js';
import { describeReason, tellingRefusal } from '../model/reasons.js';
import { splitPluginKey } from './plugin-names.js';
import type { ExplainView, PluginView } from '../model/views.js';

/**
 * Puts the facts together.
 *
 * @param subject `type/name`, or the path of a socket
 * @param plugins the incarnations it is about, in any order
 * @param events its timeline, oldest first
 * @param use sentences about the holders of its devices
 * @returns undefined when there is neither an entry nor an event
 */
export function explain(
  subject: string,
  plugins: readonly PluginView[],
  events: readonly BrokerEvent[],
  use: readonly string[] = [],
): ExplainView | undefined {
  const ordered = [...plugins].sort((a, b) => Number(b.primary) - Number(a.primary));
  const [primary] = ordered;
  if (primary !== undefined) {
    const { about, remedy } = describeReason(primary.reason);
    const why = [`${about}${becauseOf(primary, events)}`, ...use, ...sinceThen(primary, events), ...keptOut(primary)];
    const isKeptOut = primary.quarantinedUntil !== '' && primary.state !== 'ready';
    return {
      ...head(subject, primary.state, primary.reason),
      why: why.join(' '),
      remedy: named(isKeptOut ? quarantineRemedy(events) : remedy, primary.name),
      plugins: ordered,
      events,
    };
  }
  const refusals = events.filter(({ type }) => type === 'refused');
  const refusal = tellingRefusal(refusals);
  const last = refusal ?? events.at(-1);
  if (last === undefined) return undefined;
  const { about, remedy } = describeReason(last.reason);
  const newest = refusals.at(-1);
  const sinceThat = newest === undefined || newest === refusal ? '' : ` Since then: ${sentence(newest.message)}`;
  const why =
    refusal === undefined
      ? sentence(last.message)
      : `It never came in. ${about} Last: ${sentence(last.message)}${sinceThat}`;
  const state = refusal === undefined ? 'gone' : 'rejected';
  const done = last.reason === '' ? '' : named(remedy, splitPluginKey(last.plugin).name);
  return { ...head(subject, state, last.reason), why, remedy: done, plugins: [], events };
}

/** The remedy depends on the limit that the strikes were for: the last one exceeded before the quarantine. */
function quarantineRemedy(events: readonly BrokerEvent[]): string {
  const began = events.findLastIndex(({ type, reason }) => type === 'quarantine' && reason === 'QUARANTINED');
  const before = events.slice(0, began === -1 ? events.length : began);
  const cause = before.findLast(({ reason }) => reason === 'update-flood' || reason === 'FLOOD_REGISTER');
  const { remedy } = describeReason('QUARANTINED');
  if (cause?.reason !== 'update-flood') return remedy;
  const lists =
    'The strikes are for its device lists: let it send a list only when a device changed, or raise flood.updates;';
  return `${lists} ${remedy.slice(remedy.indexOf(';') + 1).trimStart()}`;
}

/** A remedy with the name of the plugin in the commands that it names. */
function named(remedy: string, name: string): string {
  return name === '' ? remedy : remedy.replaceAll(/\bNAME\b/g, () => name);
}

function head(subject: string, state: string, reason: string): Pick<ExplainView, 'subject' | 'state' | 'reason'> {
  return { subject, state, reason };
}

/** The words of the event that brought the present state: they name the fact that the reason only classifies. */
function becauseOf(plugin: PluginView, events: readonly BrokerEvent[]): string {
  const cause = events.findLast((event) => event.reason === plugin.reason && event.socket === plugin.socket);
  return cause === undefined || plugin.state === 'ready' ? '' : ` Last: ${sentence(cause.message)}`;
}

/** A plugin may serve while newcomers of its name are refused: operators open this view to learn about those refusals. */
function sinceThen(plugin: PluginView, events: readonly BrokerEvent[]): readonly string[] {
  const since = Date.parse(plugin.stateSince);
  const refusal = tellingRefusal(events.filter(({ type, time }) => type === 'refused' && Date.parse(time) >= since));
  if (refusal === undefined || refusal.reason === plugin.reason) return [];
  if (refusal.reason === 'QUARANTINED' && plugin.quarantinedUntil !== '') return [];
  return [`Since then a registration was refused with ${refusal.reason}: ${sentence(refusal.message)}`];
}

/** A quarantine is about the plugin: its present incarnation may serve through it, or have been lost before it began. */
function keptOut({ quarantinedUntil }: PluginView): readonly string[] {
  return quarantinedUntil === ''
    ? []
    : [`Registrations in its name are refused until ${quarantinedUntil} (quarantine).`];
}

function sentence(message: string): string {
  return /[.!?]$/.test(message) ? message : `${message}.`;
}
