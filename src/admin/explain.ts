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
  const own = events.filter((event) => !isOfAnother(event));
  const told = own.length === 0 ? events : own;
  const refusals = told.filter(({ type }) => type === 'refused');
  const refusal = tellingRefusal(refusals);
  const last = refusal ?? told.at(-1);
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
  const isCause = (event: BrokerEvent): boolean =>
    event.reason === plugin.reason && event.socket === plugin.socket && !isOfAnother(event);
  const cause = events.findLast(isCause);
  return cause === undefined || plugin.state === 'ready' ? '' : ` Last: ${sentence(cause.message)}`;
}

/** A plugin may serve while newcomers of its name are refused: operators open this view to learn about those refusals. */
function sinceThen(plugin: PluginView, events: readonly BrokerEvent[]): readonly string[] {
  const since = Date.parse(plugin.stateSince);
  const refusals = events.filter(({ type, time }) => type === 'refused' && Date.parse(time) >= since);
  const own = tellingRefusal(refusals.filter((event) => !isOfAnother(event)));
  const isKnown = own?.reason === plugin.reason || (own?.reason === 'QUARANTINED' && plugin.quarantinedUntil !== '');
  const others = tellingRefusal(refusals.filter(isOfAnother));
  const told = (whose: string, { reason, message }: BrokerEvent): string =>
    `Since then a registration${whose} was refused with ${reason}: ${sentence(message)}`;
  return [
    ...(own === undefined || isKnown ? [] : [told('', own)]),
    ...(others === undefined ? [] : [told(` of uid ${String(others.facts?.['by'])}`, others)]),
  ];
}

/** A refusal of another user than the one whose name it is. */
function isOfAnother({ facts }: BrokerEvent): boolean {
  return facts?.['by'] !== undefined;
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
