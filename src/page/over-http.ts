// The words about leases and pods for any client of a port: ids, states and kinds of owners, and no names.
import type { BrokerEvent, EventFacts, EventType } from '../model/event.js';
import { describeReason } from '../model/reasons.js';
import type { HolderView } from '../model/views.js';

const OF_LEASES: ReadonlySet<EventType> = new Set(['allocated', 'released', 'expired', 'impaired']);
/** The other details of leases are in `events -o json` only. */
const UNNAMED = 'a lease changed; `plugin-broker events` says which';

/** The event as it is told over HTTP. */
export function overHttp(event: BrokerEvent): BrokerEvent {
  if (event.type === 'front' && event.facts?.['pods'] !== undefined) return { ...event, message: ofPods(event.facts) };
  if (!OF_LEASES.has(event.type)) return event;
  const { lease, kind, resource, devices } = event.facts ?? {};
  if (lease === undefined) return { ...event, message: UNNAMED };
  const of = `${String(devices)} of ${String(resource)}`;
  const why = event.reason === '' ? '' : ` (${describeReason(event.reason).about})`;
  return { ...event, message: `lease ${String(lease)} bound to a ${String(kind)}: ${event.type}, ${of}${why}` };
}

function ofPods({ resource, pods }: EventFacts): string {
  return `a device of ${String(resource)} is in use by ${String(pods)} pods; \`plugin-broker events\` names them`;
}

/** The words of explanations over HTTP. */
export const OVER_HTTP = {
  holder: ({ lease, kind }: HolderView): string => (kind === 'pod' ? 'a pod' : `lease ${lease} bound to a ${kind}`),
  event: overHttp,
};
