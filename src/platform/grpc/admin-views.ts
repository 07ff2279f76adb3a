// From decoded messages of the admin API to views: only parts that a message may lack need a word.
import type { BrokerEvent } from '../../model/event.js';
import {
  NO_FRONT,
  type BrokerView,
  type CheckpointView,
  type LedgerView,
  type PluginView,
  type PolicyView,
} from '../../model/views.js';
import type {
  Broker,
  Checkpoint,
  Event,
  Ledger,
  Plugin,
  Policy,
  Resource,
} from '../../generated/proto/pluginbroker/v1/admin.js';
import type { Message } from '../wire/table.js';
import type { ResourcePart } from './admin-pages.js';

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

/** The knowledge about devices that were given out. */
export function ledgerView(sent: Message<typeof Ledger> | undefined): LedgerView {
  if (sent !== undefined) return { ...sent, state: sent.state as LedgerView['state'] };
  return { state: 'unread', leases: -1, waiting: -1 };
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

/** A resource, or a further part of the one before. */
export function resourcePart(sent: Message<typeof Resource>): ResourcePart {
  const { front } = sent;
  return { ...sent, front: front === undefined ? NO_FRONT : { ...front, told: front.told ?? NO_FRONT.told } };
}

/** An event; its type is taken as it is, like the phase. */
export function eventView(sent: Message<typeof Event>): BrokerEvent {
  return { ...sent, type: sent.type as BrokerEvent['type'] };
}
