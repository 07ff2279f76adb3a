// The settings as the program uses them: resolved, frozen, durations in milliseconds. Their file form is in config/.
import type { HttpSettings } from './http.js';
import type { FrontSettings } from './front.js';

/** A limit's action on a registration that has no permit (docs/specification.md#flood-policy). */
export type RegisterAction = 'delay' | 'reject' | 'disconnect';
/** A limit's action on list updates that come faster than its pace (docs/specification.md#flood-policy). */
export type UpdateAction = 'coalesce' | 'disconnect';
/** `enforce` acts; `observe` counts and reports, and lets pass. */
export type FloodMode = 'enforce' | 'observe';
/** The action when another incarnation registers a name that is taken (docs/specification.md#sessions-and-states). */
export type DuplicatePolicy = 'newest' | 'keep-alive' | 'reject';
/**
 * How a broken or forgotten ListAndWatch is taken up again on a living incarnation (docs/specification.md#sessions-and-states).
 */
export type ReattachPolicy = 'stream' | 'probe' | 'recycle';
/** When plugin sockets are removed at start, as the kubelet does (docs/specification.md#restart). */
export type WipePolicy = 'never' | 'on-cold-start' | 'always';

/** A bucket: `burst` permits at once, and one more each `intervalMs`. */
export interface BucketSettings {
  readonly burst: number;
  readonly intervalMs: number;
}

/** A limit on registrations. `maxDelayMs`: the longest a call is held for its turn before it is refused at once. */
export interface RegisterLimit extends BucketSettings {
  readonly onExceed: RegisterAction;
  readonly maxDelayMs: number;
}

/** A limit on ListAndWatch messages of one session. */
export interface UpdateLimit extends BucketSettings {
  readonly onExceed: UpdateAction;
}

/** Limits on connections to our sockets. */
export interface ConnectionLimit extends BucketSettings {
  /** The one thing that can be done with a connection that is one too many. */
  readonly onExceed: 'disconnect';
  /** Connections one process may hold open (one uid where pids are unknown). */
  readonly perProcess: number;
  /** Connections in all. */
  readonly total: number;
  /** Concurrent calls on one connection. */
  readonly streams: number;
}

/** How strikes become a quarantine (docs/specification.md#flood-policy). */
export interface PenaltySettings {
  /** Strikes inside `windowMs` that bring a quarantine. */
  readonly strikes: number;
  readonly windowMs: number;
  /** Length of the first quarantine. */
  readonly quarantineMs: number;
  /** Each further quarantine is this many times longer, up to `maxMs`. */
  readonly factor: number;
  readonly maxMs: number;
}

/** The flood policy of one plugin after its rule was applied. */
export interface FloodPolicy {
  readonly mode: FloodMode;
  readonly register: RegisterLimit;
  readonly updates: UpdateLimit;
  readonly penalty: PenaltySettings;
}

/** The flood settings that are not per plugin. */
export interface FloodSettings extends FloodPolicy {
  readonly connections: ConnectionLimit;
  /** Requests for devices, of one uid. */
  readonly allocate: BucketSettings;
  readonly globalRegister: RegisterLimit;
  /** Buckets kept at most; past it newcomers of one uid share one. */
  readonly maxBuckets: number;
}

/** The consumer of a resource's devices: owners of leases, or the pods of a kubelet. */
export type Consumer = 'local' | 'kubelet';

/** A rule's policy about allocating the devices of a resource. */
export interface AllocatePolicy {
  /** Uids that may have them; undefined: any. Root always may. */
  readonly uids: readonly number[] | undefined;
  /** Devices of the resource that one uid may have at once; undefined: any number. */
  readonly max: number | undefined;
  /** Undefined: `kubelet` where the front is enabled and matches, else `local`. */
  readonly consumer: Consumer | undefined;
  /** Variables that are set for owners, with their contents: `ids` are the device ids joined by comma. */
  readonly env: ReadonlyMap<string, 'ids'>;
}

/** Everything that rules can say about one plugin (docs/specification.md#configuration). */
export interface PluginPolicy {
  /** The rules that match, in their order, by name or place: `three-a-minute`, `rules[2]`, `shipped nvidia`. */
  readonly rules: readonly string[];
  readonly flood: FloodPolicy;
  /** The setting that made `flood`: `flood`, or the first rule that changes it, by its name or as `rules[2].flood`. */
  readonly floodSource: string;
  readonly duplicates: DuplicatePolicy;
  readonly reattach: ReattachPolicy;
  /** How long a lost plugin's resource is held before it is gone. */
  readonly graceMs: number;
  /** Uids whose processes may register this plugin besides its listener's; undefined: no restriction. */
  readonly uids: readonly number[] | undefined;
  readonly allocate: AllocatePolicy;
}

/** Where things are, all absolute. */
export interface Paths {
  readonly root: string;
  readonly devicePlugins: string;
  readonly pluginsRegistry: string;
  readonly plugins: string;
  readonly state: string;
  readonly brokerSocket: string;
  readonly allocSocket: string;
  /** The directory of PodResources' kubelet.sock. */
  readonly podResources: string;
  /** Prefix translations for endpoints whose sender sees the host differently; first match wins. */
  readonly map: readonly { readonly from: string; readonly to: string }[];
}

/** The callers and plugins that may come in (docs/specification.md#admission). */
export interface AdmissionSettings {
  /** Uids allowed to register at all; undefined: any uid that listens on the endpoint it names. */
  readonly allowUids: readonly number[] | undefined;
  /** Globs a resource or driver name must match / must not match. */
  readonly allowNames: readonly string[];
  readonly denyNames: readonly string[];
  readonly maxPlugins: number;
  readonly maxListBytesTotal: number;
  readonly maxMessageBytes: number;
  readonly maxDevices: number;
}

/** Budgets of one HTTP/2 connection; past one of them it is ended (docs/specification.md#the-border-of-a-socket). Frames are
 * counted in windows of `windowMs`; completed calls and data add to them, so that a busy client that works never meets them. */
export interface GuardSettings {
  readonly windowMs: number;
  /** SETTINGS frames in a window. */
  readonly settings: number;
  /** PING frames in a window. */
  readonly pings: number;
  /** Calls that the peer resets in a window and, counted apart, calls that it makes us reset. */
  readonly resets: number;
  /** DATA and CONTINUATION frames in a window that carry nothing, or padding; and, counted apart, messages of requests after the first. */
  readonly emptyFrames: number;
  /** WINDOW_UPDATE frames, and PRIORITY frames, in a window. */
  readonly windowUpdates: number;
  readonly priorities: number;
  /** Header blocks of answers in a window beyond the two that a call of ours has: 1xx, and those of no call. */
  readonly informational: number;
  /** Frames of any kind in a window. */
  readonly frames: number;
  /** Bytes of one header block, as sent and of its list (RFC 9113 6.5.2), and its CONTINUATION frames. */
  readonly headerBytes: number;
  readonly continuations: number;
  /** From accept to a complete client preface and first SETTINGS. */
  readonly prefaceMs: number;
  /** From the first frame of a header block to its end. */
  readonly headersMs: number;
  /** A connection without an open call is closed after this. */
  readonly idleMs: number;
  /** A call whose request is not complete by then ends its connection. */
  readonly halfOpenMs: number;
  /** From the end of one direction of a connection to the end of the other. */
  readonly halfClosedMs: number;
  /** Bytes of answers that may wait for a peer to read them; more than that end it at once. */
  readonly unreadBytes: number;
  /** How long any of them may wait, or a call for its peer to open a flow-control window. */
  readonly unreadMs: number;
  /** The age at which a connection is asked to finish its calls and go. */
  readonly ageMs: number;
}

/** Deadlines of calls to plugins. */
export interface Timeouts {
  readonly registerMs: number;
  readonly getInfoMs: number;
  readonly optionsMs: number;
  readonly notifyMs: number;
  readonly nodeGetInfoMs: number;
  readonly allocateMs: number;
  readonly preferredMs: number;
  readonly preStartMs: number;
}

/** Leases (alloc.sock). */
export interface AllocatorSettings {
  readonly enabled: boolean;
  /** Name or number of the group that may open alloc.sock; empty: the broker's own. */
  readonly group: string;
  /** How often it is looked whether owners still live. */
  readonly checkMs: number;
  /** Variables whose values of several plugins are joined by comma. */
  readonly joinEnv: readonly string[];
  readonly maxLeases: number;
}

/** CDI files of leases. */
export interface CdiSettings {
  /** Absolute; undefined: no files are written. */
  readonly dir: string | undefined;
  /** vendor/class. */
  readonly kind: string;
}

/** The PodResources service. */
export interface PodResourcesSettings {
  readonly enabled: boolean;
  /** Socket of a kubelet whose answer is given together with ours; undefined: none. */
  readonly upstream: string | undefined;
}

/** How living plugins are told from frozen ones. */
export interface LivenessSettings {
  readonly intervalMs: number;
  readonly timeoutMs: number;
  /** Failed calls in a row before a plugin counts as lost. */
  readonly failures: number;
}

/** The behaviour after the daemon's own restart (docs/specification.md#restart). */
export interface RestartSettings {
  readonly deadlineMs: number;
  readonly settleMs: number;
  readonly wipeSockets: WipePolicy;
}

/** The users that may connect to kubelet.sock. */
export interface SocketSettings {
  /** Its file mode; a user that may write it may connect. */
  readonly mode: number;
  /** Its group, by name or number; undefined: the group that the directory gives. */
  readonly group: string | number | undefined;
}

/** How sockets are found and retried. */
export interface DiscoverySettings {
  /** Registration sockets known at most. */
  readonly maxSockets: number;
  readonly rescanMs: number;
  readonly retryFirstMs: number;
  readonly retryMaxMs: number;
}

/** The durable store (docs/specification.md#checkpoint). */
export interface CheckpointSettings {
  /** A write not durable within this is reported, and its callers are answered all the same. */
  readonly writeDeadlineMs: number;
  /** List changes after the first are written at most this often per resource. */
  readonly listIntervalMs: number;
  /** Lists above this many bytes are files of their own. */
  readonly inlineListBytes: number;
}

/** Publishing of CSI node facts (docs/specification.md#csi-and-dra-drivers). */
export interface CsiSettings {
  readonly publish: 'file' | 'kubernetes';
  readonly nodeName: string;
  readonly kubeconfig: string | undefined;
}

/** Logging. */
export interface LogSettings {
  readonly level: 'error' | 'warn' | 'info' | 'debug';
  readonly format: 'auto' | 'json' | 'pretty';
}

/** The whole configuration, resolved. */
export interface Settings {
  readonly paths: Paths;
  readonly socket: SocketSettings;
  readonly http: HttpSettings;
  readonly admission: AdmissionSettings;
  readonly guard: GuardSettings;
  readonly discovery: DiscoverySettings;
  readonly flood: FloodSettings;
  readonly timeouts: Timeouts;
  readonly grace: { readonly deviceMs: number; readonly csiMs: number; readonly draMs: number };
  readonly liveness: LivenessSettings;
  readonly restart: RestartSettings;
  readonly checkpoint: CheckpointSettings;
  readonly allocator: AllocatorSettings;
  readonly cdi: CdiSettings;
  readonly podResources: PodResourcesSettings;
  readonly front: FrontSettings;
  readonly csi: CsiSettings;
  readonly log: LogSettings;
}

/** The policy in force; replaced whole on reload. LiveConfig (config/live-config) has it. */
export interface PolicySource {
  readonly flood: FloodSettings;
  /** The effective policy of one plugin: its first matching rule over the defaults. Cheap: answers are remembered. */
  policyFor(type: string, name: string, socket: string): PluginPolicy;
}
