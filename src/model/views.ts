// The views of the admin commands: the JSON of `-o json` (docs/specification.md#commands). Programs depend on these names.
import type { BrokerEvent } from './event.js';
import type { LeaseBinding, LedgerState } from './lease.js';

/** Epoch milliseconds as RFC 3339; empty for never. */
export function timeText(wallMs: number): string {
  return wallMs <= 0 ? '' : new Date(wallMs).toISOString();
}

/** The broker itself. */
export interface BrokerView {
  readonly version: string;
  readonly pid: number;
  readonly phase: 'restoring' | 'ready' | 'degraded' | 'stopping';
  readonly startedAt: string;
  readonly bootId: string;
  readonly restoredPlugins: number;
  /** The degraded parts, one sentence each; empty when there are none. */
  readonly problems: readonly string[];
}

/** The durable store. */
export interface CheckpointView {
  readonly state: 'ok' | 'recovered' | 'not-writable' | 'newer-format' | 'empty';
  readonly generation: number;
  readonly bytes: number;
  readonly lastWrite: string;
  readonly reason: string;
}

/** The policy in force. */
export interface PolicyView {
  readonly source: string;
  readonly loadedAt: string;
  readonly error: string;
}

/** Counters of one incarnation. */
export interface PluginCounters {
  readonly registrations: number;
  readonly rejected: number;
  readonly updates: number;
  readonly coalesced: number;
  readonly disconnects: number;
  readonly strikes: number;
}

/** One incarnation of a plugin. Absent numbers are -1, absent texts empty: the shape never changes. */
export interface PluginView {
  readonly type: string;
  readonly name: string;
  readonly primary: boolean;
  readonly state: string;
  readonly reason: string;
  readonly endpoint: string;
  readonly socket: string;
  readonly uid: number;
  readonly pid: number;
  readonly apiVersion: string;
  readonly registeredAt: string;
  readonly stateSince: string;
  readonly resource: string;
  readonly counters: PluginCounters;
  readonly quarantinedUntil: string;
}

/** One device. */
export interface DeviceView {
  readonly id: string;
  readonly health: string;
  readonly numaNodes: readonly number[];
  /** The lease that has it, and the lease's owner; empty where nobody has. */
  readonly lease: string;
  readonly owner: string;
}

/** The holder of a device. */
export interface HolderView {
  /** Its lease; empty where a pod of the kubelet has it. */
  readonly lease: string;
  /** Its name, which it chose itself (ownerText). */
  readonly owner: string;
  /** The user of its lease; undefined where a pod of the kubelet has it. */
  readonly uid: number | undefined;
  /** The binding of the lease, or `pod`. */
  readonly kind: LeaseBinding | 'pod';
}

/** The knowledge about devices that were given out. */
export interface LedgerView {
  readonly state: LedgerState | 'unread';
  readonly leases: number;
  /** Requests that wait for devices. */
  readonly waiting: number;
}

/** How a resource stands towards the kubelet. */
export interface FrontShown {
  /** A state of FRONT_STATES; `off` where there is no front. */
  readonly state: string;
  readonly reason: string;
  readonly since: string;
  /** The devices that the kubelet was told of. */
  readonly told: { readonly healthy: number; readonly unhealthy: number };
  /** It is not (yet) with the consumer that the configuration names; the reason says why. */
  readonly stays: boolean;
}

/** Towards the kubelet of a broker that stands before none. */
export const NO_FRONT: FrontShown = {
  state: 'off',
  reason: '',
  since: '',
  told: { healthy: 0, unhealthy: 0 },
  stays: false,
};

/** One resource. */
export interface ResourceView {
  readonly name: string;
  readonly plugin: string;
  readonly state: string;
  readonly capacity: number;
  readonly allocatable: number;
  readonly allocated: number;
  /** `local` or `kubelet`. */
  readonly consumer: string;
  readonly front: FrontShown;
  readonly devices: readonly DeviceView[];
}

/** A resource as it is listed, without its devices. */
export type ListedResource = Omit<ResourceView, 'devices'>;

/** One bucket of the flood policy. */
export interface LimitView {
  readonly limit: string;
  readonly plugin: string;
  readonly uid: number;
  readonly mode: string;
  readonly permits: number;
  readonly burst: number;
  readonly intervalMs: number;
  readonly nextInMs: number;
  readonly strikes: number;
  readonly quarantinedUntil: string;
  readonly exceeded: number;
  /** The callers that it slows now: a state word, or empty. */
  readonly slowing: string;
  /** The rule that set it: its name, `rules[2].flood` or `flood`. */
  readonly source: string;
}

/** The present effect of one rule of the flood policy, for dashboards: its buckets together. */
export interface FloodRuleView {
  /** Its name, `rules[2].flood` or `flood`. */
  readonly source: string;
  readonly mode: string;
  /** Buckets under it now. */
  readonly buckets: number;
  /** Buckets whose callers are held or refused now (or would be, if the mode is `observe`), quarantines aside. */
  readonly slowed: number;
  readonly quarantined: number;
  /** Strikes that count now. */
  readonly strikes: number;
}

/** A plugin, or a socket whose plugin is unknown, that is refused again and again. */
export interface RefusedView {
  /** `type/name`; empty where none is known. */
  readonly plugin: string;
  readonly socket: string;
  /** Code and sentence of the last refusal. */
  readonly reason: string;
  readonly message: string;
  /** In a row, since it was last let in or since the broker started. */
  readonly refusals: number;
  readonly since: string;
  readonly last: string;
}

/** The answer of `status -o json`. */
export interface StatusView {
  readonly broker: BrokerView;
  readonly checkpoint: CheckpointView;
  readonly policy: PolicyView;
  readonly ledger: LedgerView;
  readonly plugins: readonly PluginView[];
  readonly resources: readonly ResourceView[];
  /** The newest refusal first; of a broker before 0.2 always empty. */
  readonly refused: readonly RefusedView[];
}

/** The outcome of reading the config file again. */
export interface ReloadView {
  readonly outcome: 'applied' | 'unchanged' | 'refused';
  /** The file, or `defaults`. */
  readonly source: string;
  /** `flood.register.burst: 5 → 8`. */
  readonly changes: readonly string[];
  /** Changes that wait for a restart. */
  readonly needRestart: readonly string[];
  /** Why it was refused, one sentence each. */
  readonly problems: readonly string[];
}

/** The answer of `explain`: the facts about one plugin or one socket. */
export interface ExplainView {
  /** `type/name`, or the path that was asked about. */
  readonly subject: string;
  /** The state of the primary incarnation; `rejected` when it never came in. */
  readonly state: string;
  readonly reason: string;
  /** Why it is in this state, in sentences. */
  readonly why: string;
  /** The remedy. */
  readonly remedy: string;
  /** Its incarnations, the primary one first. */
  readonly plugins: readonly PluginView[];
  /** Its timeline, oldest first. */
  readonly events: readonly BrokerEvent[];
}
