// The events for operators: the timeline of each plugin.

/** One event. `type` is its kind, `reason` is a code of the table in reasons.ts or empty. */
export interface BrokerEvent {
  /** RFC 3339. */
  readonly time: string;
  /** Grows by one with each event, across restarts. */
  readonly seq: number;
  readonly type: EventType;
  readonly reason: string;
  /** type/name, or empty where no plugin is known. */
  readonly plugin: string;
  readonly socket: string;
  readonly message: string;
  /** For programs, where a sentence is for people. Kept in the journal's file; `events -o json` leaves it out. */
  readonly facts?: EventFacts;
}

/**
 * The facts that pictures are drawn of and histories are kept by, by the type of the event. state, registered: `state` of the
 * plugin, where this instance speaks for it, and `newcomer`, which is 1 where the instance was never let in · refused:
 * `by`, the uid that was refused, where the name is another user's · devices: `devices` and `healthy` of its list · broker: `start` (`first`, `clean`, `killed` or `rebooted`: the
 * end before it) with `restored` plugins, then `settled` milliseconds after it with `confirmed` of `total` · leases: `lease`,
 * `kind` of owner, `resource`, `devices` · front: `resource` and `pods`, how many the message names.
 */
export type EventFacts = Readonly<Record<string, string | number>>;

/** Kinds of events. */
export const EVENT_TYPES = [
  'broker',
  'registered',
  'refused',
  'state',
  'devices',
  'flood',
  'quarantine',
  'connection',
  'checkpoint',
  'policy',
  'discovery',
  'operator',
  'front',
  'allocated',
  'released',
  'expired',
  'impaired',
] as const;
/** broker: its own life · registered / refused: verdicts · state: an instance changed state · devices: a list was
 * taken or refused · flood, quarantine: policy · connection: a peer was cut off · checkpoint · policy: reload ·
 * discovery: sockets and directories · operator: an admin command · front: a resource before a kubelet · allocated, released,
 * expired, impaired: a lease. */
export type EventType = (typeof EVENT_TYPES)[number];

/** The kinds of events of leases. */
export const LEASE_EVENTS: ReadonlySet<EventType> = new Set(['allocated', 'released', 'expired', 'impaired']);

/** Which events are wanted. */
export interface EventQuery {
  /** Only events with this number or a later one; 0 for all that are kept. */
  readonly since: number;
  /** Go on with new events after the kept ones, until the signal aborts. */
  readonly follow: boolean;
}

/** An event as a stage reports it; the journal adds time and number. */
export type EventDraft = DraftBeside & (OfPlugin | OfNoPlugin);

interface DraftBeside {
  readonly type: EventType;
  readonly reason?: string;
  readonly socket?: string;
  readonly message: string;
  readonly facts?: EventFacts;
}

/** Whoever has plugins decides how often something happens to them, so that each of these says whose it is. */
interface OfPlugin {
  readonly plugin: string;
  /**
   * Of the caller, of the process behind the plugin, or of the owner of the socket or of the lease: one user's events have a share of
   * their count. Undefined: nobody knows, or an operator asked for it. Not a part of the event.
   */
  readonly uid: number | undefined;
}

interface OfNoPlugin {
  readonly plugin?: undefined;
  /** The same, where a user is behind it. */
  readonly uid?: number | undefined;
}

/** Takes the events of stages. Never throws, never waits. Journal (journal/journal) implements it. */
export interface EventSink {
  record(event: EventDraft): void;
}
