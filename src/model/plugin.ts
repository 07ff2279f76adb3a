// The broker's knowledge of plugins: their states, and the interface of handlers.
import type { Caller, Incarnation } from './ids.js';
import type { PluginPolicy } from './settings.js';
import type { Refusal, Reason } from './reasons.js';

/** The states of one incarnation of a plugin (docs/specification.md#sessions-and-states). */
export const PLUGIN_STATES = [
  'restored',
  'connecting',
  'ready',
  'held',
  'gone',
  'rejected',
  'quarantined',
  'orphaned',
] as const;
/** restored: from the checkpoint, not yet confirmed · connecting · ready · held: lost, inside its grace · gone ·
 * rejected · quarantined · orphaned: connected, but its path belongs to someone else. */
export type PluginState = (typeof PLUGIN_STATES)[number];

/** Drivers keep their service sockets here on every node, independent of the broker's own root. */
export const KUBELET_PLUGINS = '/var/lib/kubelet/plugins';

/** The two ways in: the plugin calls Register, or its registration socket appears in the watched directory. */
export type Door = 'register' | 'watcher';

/**
 * Whether ordinary users may move everybody's names in a door's directory: then another user may be behind whatever befalls a
 * socket, and behind whatever its plugin does about it. `namesMove` (platform/fs/name-movers).
 */
export type NamesMove = (door: Door) => boolean;

/** Why a path could not be pinned. `error` carries the system's code. */
export interface PinProblem {
  readonly problem: 'missing' | 'not-a-socket' | 'too-long' | 'error';
  readonly detail: string;
}

/**
 * A socket that was opened with O_PATH, checked, and can be dialled as exactly the file that was checked. The pin keeps
 * its inode from being used again until `release`. `pinSocket` (platform/fs/socket-pin) makes it.
 */
export interface PinnedSocket {
  /** Where it was found: absolute, links followed. */
  readonly path: string;
  readonly incarnation: Incarnation;
  /** Owner of the socket file. */
  readonly uid: number;
  /** The path for a dialler: /proc/self/fd/N. */
  readonly dialPath: string;
  /** Gives up one hold; the descriptor is closed with the last. `retain` takes one more. */
  release(): void;
  retain(): PinnedSocket;
}

/** A socket of the registry directory. */
export interface FoundSocket {
  readonly socket: PinnedSocket;
  /**
   * The user in whose shares it counts: the one who can fill its directory, which need not be the one who made the file; -1: not
   * to be seen. Read at each use, because a directory can be given away.
   */
  readonly owner: number;
}

/** A door's request to take a plugin in. Nothing of it is trusted yet. */
export interface RegistrationRequest {
  readonly door: Door;
  /** The broker itself comes back to a plugin it knows (restart, quarantine over, broken stream), nobody called. */
  readonly pulled: boolean;
  readonly type: string;
  readonly name: string;
  readonly versions: readonly string[];
  /** As the plugin spelled it; empty at the watcher door means the registration socket itself. */
  readonly endpoint: string;
  /** The registration socket at the watcher door, pinned by its finder. */
  readonly socket?: PinnedSocket;
  /** When pulled: the incarnation (key) that is meant; any other at that path is a different plugin. */
  readonly expected?: string;
  readonly caller?: Caller;
  /** The user whose plugin is presumed at that path, where nobody called: another's has to call by itself. */
  readonly presumedUid?: number;
}

/** How a registration ended. */
export type Outcome =
  | { readonly ok: true; readonly instanceId: string; readonly durable: boolean }
  | { readonly ok: false; readonly refusal: Refusal; readonly instanceId?: string };

/** A registration that admission let in. */
export interface Enrolment extends Pick<RegistrationRequest, 'door' | 'pulled' | 'type' | 'name' | 'versions'> {
  /** This incarnation had a list stream before, or is known from the checkpoint: its reattach rule applies. */
  readonly resumed: boolean;
  /** The socket that registered: the plugin's own at the Register door, the registration socket at the watcher door. */
  readonly socket: PinnedSocket;
  /** The socket that serves the plugin's service; the same as `socket` where the plugin named no other. */
  readonly endpoint: PinnedSocket;
  /** The endpoint as the plugin spelled it. */
  readonly endpointAsSent: string;
  readonly caller: Caller | undefined;
  /** The process that listens on the endpoint. */
  readonly listener: Caller | undefined;
  readonly policy: PluginPolicy;
}

/** Something a handler tells about an instance it serves. */
export interface InstanceReport {
  readonly state: PluginState;
  readonly reason: Reason;
  /** One sentence for events and logs. */
  readonly message: string;
  /** Its facts as they are now, where it registered with others: `Accepted.facts` from here on. */
  readonly facts?: Accepted['facts'];
}

/** The state to which an instance that is asked goes back when it does not come in. */
export type WayBack = Pick<InstanceReport, 'state' | 'reason'>;

/**
 * A handler's interface for reports about one instance. Enrolments (reconcile/enrolment) makes it; of drivers of the checkpoint
 * `CsiHandler.restoreAll` (csi/csi-handler). Reports of a closed one change nothing.
 */
export interface InstanceHandle {
  readonly id: string;
  report(report: InstanceReport): void;
  /** The instance took over: its predecessors may be let go now. Called once, after register or later. */
  serving(): void;
}

/** Endpoints of known instances. Endpoints (reconcile/endpoints) has them. */
export interface EndpointSource {
  /** The endpoint of exactly that incarnation, held once for the caller; undefined when it is gone or kept out. */
  forAsking(instanceId: string): PinnedSocket | undefined;
}

/** Takes the reports of handlers about instances: Reports (reconcile/reports). */
export interface InstanceReports {
  report(instanceId: string, report: InstanceReport): void;
  serving(instanceId: string): void;
}

/** A registration that a handler accepted. */
export interface Accepted {
  /** The version that was chosen among those offered. */
  readonly version: string;
  /** Facts for the checkpoint, as JSON; the handler understands them again at a restart. */
  readonly facts: Readonly<Record<string, unknown>>;
}

/**
 * The kubelet side of one plugin type: Validate → Register → DeRegister, Register again allowed after Validate.
 * `register` calls do not overlap as `serialBy` says; `deregister` may come at any time. DevicePluginHandler
 * (session/device-plugin-handler), CsiHandler (csi/csi-handler) and DraHandler (dra/dra-handler) are.
 */
export interface PluginHandler {
  readonly type: string;
  /** Which registrations must not overlap: those of one plugin name, or only those of one incarnation. */
  readonly serialBy: 'plugin' | 'incarnation';
  /** Whether several incarnations of one name serve side by side (DRA) or the newest replaces the others. */
  readonly coexist: boolean;
  /** Checks name and versions; no side effects. Undefined: fine. */
  validate(name: string, versions: readonly string[]): Refusal | undefined;
  /**
   * Takes the plugin in. Resolves when it serves; until then nothing of an earlier incarnation is touched.
   *
   * @throws Refused with the answer
   */
  register(enrolment: Enrolment, instance: InstanceHandle, signal: AbortSignal): Promise<Accepted>;
  /** Whether an instance answers now; for `duplicates: keep-alive` and before it is trusted as fallback. */
  isAlive(instanceId: string, signal: AbortSignal): Promise<boolean>;
  /** The endpoint of an instance is found by another path from now on. Unknown ids are ignored; a handler that dials once needs none. */
  renamed?(instanceId: string, endpointPath: string): void;
  /** Lets go of one instance; never dials it. Idempotent; unknown ids are ignored. */
  deregister(instanceId: string, reason: Reason): Promise<void>;
}
