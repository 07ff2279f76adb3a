// From decoded messages of the admin API to views: only parts that a message may lack need a word.
import type { BrokerEvent } from '../../model/event.js';
import type { BrokerView, CheckpointView, PluginView, PolicyView } from '../../model/views.js';
import type { Broker, Checkpoint, Event, Plugin, Policy } from '../wire/services/admin.js';
import type { Message } from '../wire/table.js';

const NOT_SENT = 'not sent by the daemon';

/** The broker; the phase is taken as it is, because a newer daemon may know more of them. */
export function brokerView(sent: Message<typeof Broker> | undefined): BrokerView {
  const phase = (sent?.phase ?? 'degraded') as BrokerView['phase'];
  if (sent !== undefined) return { ...sent, phase };
  return { version: '', pid: -1, phase, startedAt: '', bootId: '', restoredPlugins: -1, problems: [NOT_SENT] };
}

/** The store. */
export function checkpointView(sent: Message<typeof Checkpoint> | undefined): CheckpointView {
  if (sent !== undefined) return { ...sent, state: sent.state as CheckpointView['state'] };
  return { state: 'empty', generation: -1, bytes: -1, lastWrite: '', reason: NOT_SENT };
}

/** The policy. */
export function policyView(sent: Message<typeof Policy> | undefined): PolicyView {
  return sent ?? { source: '', loadedAt: '', error: NOT_SENT };
}

/** A plugin. */
export function pluginView(sent: Message<typeof Plugin>): PluginView {
  const unknown = { registrations: -1, rejected: -1, updates: -1, coalesced: -1, disconnects: -1, strikes: -1 };
  return { ...sent, counters: sent.counters ?? unknown };
}

/** An event; its type is taken as it is, like the phase. */
export function eventView(sent: Message<typeof Event>): BrokerEvent {
  return { ...sent, type: sent.type as BrokerEvent['type'] };
}
