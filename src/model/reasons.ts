// The closed table of reasons: why a plugin is refused, why it is in its state, why the broker complains. Each code is stable, is
// logged, counted and shown, and has its remedy. docs/reasons.md is compared with it by a test.
import { ALLOCATION_REFUSALS, LEASE_REASONS, type AllocationCode, type LeaseReason } from './allocation-reasons.js';
import { CONNECTION_ENDS, type ConnectionEndCode } from './connection-ends.js';
import { STATE_REASONS } from './state-reasons.js';

/** gRPC status codes by their numbers (grpc/grpc doc/statuscodes.md). */
export const GRPC_STATUS = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16,
} as const;

/** The row of one code. */
export interface ReasonSpec {
  /** Its meaning, in one line. */
  readonly about: string;
  /** The remedy for the operator or the plugin's author. */
  readonly remedy: string;
  /** The status on the wire when a call is refused with it. */
  readonly grpc: number;
  /** Only a matter of time: never answered with plugin_registered=false, because registrars exit on it. */
  readonly transient: boolean;
}

const S = GRPC_STATUS;
type Spec = (grpc: number, about: string, remedy: string) => ReasonSpec;
const refusal: Spec = (grpc, about, remedy) => ({ about, remedy, grpc, transient: false });
const passing: Spec = (grpc, about, remedy) => ({ about, remedy, grpc, transient: true });

/** Codes that refuse a registration, in the order in which admission asks (docs/specification.md#admission). */
export const REFUSALS = {
  QUARANTINED: passing(
    S.RESOURCE_EXHAUSTED,
    'The plugin collected too many strikes and is kept out for a while.',
    'Stop the registration loop; the broker pulls the plugin by itself when the quarantine ends, or `plugin-broker pardon NAME` lifts it now.',
  ),
  REQUEST_INVALID: refusal(
    S.INVALID_ARGUMENT,
    'The request could not be decoded, or a field of it is not valid text.',
    'Send the message of the published API, with text fields in UTF-8.',
  ),
  NAME_INVALID: refusal(
    S.INVALID_ARGUMENT,
    'The name is not an extended resource name (or a driver name) as the kubelet accepts it.',
    'Use vendor-domain/resource, lower-case DNS prefix, at most 63 characters after the slash; not kubernetes.io/.',
  ),
  NAME_DENIED: refusal(
    S.PERMISSION_DENIED,
    'The name is not among those the configuration allows.',
    'Change admission.allowNames or admission.denyNames, or the name.',
  ),
  TYPE_UNKNOWN: refusal(
    S.INVALID_ARGUMENT,
    'No handler serves this plugin type.',
    'Use DevicePlugin, CSIPlugin or DRAPlugin.',
  ),
  FLOOD_REGISTER: passing(
    S.RESOURCE_EXHAUSTED,
    'This plugin registers more often than its policy allows.',
    'Wait the seconds that the answer names before registering again; see `plugin-broker limits NAME`.',
  ),
  FLOOD_GLOBAL: passing(
    S.RESOURCE_EXHAUSTED,
    'All plugins together register more often than flood.global.register allows, or those of one user more often than its share.',
    'Find the loudest with `plugin-broker limits`, or raise flood.global.register.',
  ),
  VERSION_UNSUPPORTED: refusal(
    S.UNIMPLEMENTED,
    'None of the API versions the plugin offers is supported here.',
    'Offer one of the versions that the message lists.',
  ),
  ENDPOINT_INVALID: refusal(
    S.INVALID_ARGUMENT,
    'The endpoint is empty or contains characters that no path can have.',
    'Register with the name of the socket file the plugin listens on.',
  ),
  ENDPOINT_TOO_LONG: refusal(
    S.INVALID_ARGUMENT,
    'The path of the endpoint exceeds the 107 bytes of a unix socket address.',
    'Use a shorter socket name or a shorter root directory.',
  ),
  ENDPOINT_OUTSIDE: refusal(
    S.PERMISSION_DENIED,
    'The endpoint, after following links, is not inside the directories allowed for its type.',
    'Put the socket into the allowed directory; translate container paths with paths.map.',
  ),
  ENDPOINT_TOO_DEEP: refusal(
    S.INVALID_ARGUMENT,
    'The socket of an ordinary user lies more than four directories below the device-plugin directory.',
    'Put the socket into the device-plugin directory, or a few directories below it at most.',
  ),
  ENDPOINT_MISSING: refusal(
    S.FAILED_PRECONDITION,
    'There is no file at the endpoint.',
    'Serve first, then register; check that plugin and broker see the same directory (`plugin-broker doctor`).',
  ),
  ENDPOINT_NOT_SOCKET: refusal(
    S.INVALID_ARGUMENT,
    'The endpoint is not a unix socket.',
    'Name the socket the plugin listens on; mount directories, not socket files, into containers.',
  ),
  ENDPOINT_CLAIMED: refusal(
    S.ALREADY_EXISTS,
    'This very socket already serves another plugin of the same type.',
    'Give each resource a socket of its own.',
  ),
  CALLER_NOT_ALLOWED: refusal(
    S.PERMISSION_DENIED,
    'The uid of the caller is not allowed to register this plugin.',
    'Run the plugin as an allowed uid, or add the uid to admission.allowUids and to the rule.',
  ),
  CALLER_NOT_LISTENER: refusal(
    S.PERMISSION_DENIED,
    'The caller does not run as the uid that listens on the endpoint it names.',
    'Register from the plugin itself, or name both uids in a rule (rules[].uids).',
  ),
  NAME_OWNED: refusal(
    S.PERMISSION_DENIED,
    'The name belongs to the uid that has it, while its plugin lives or is inside its grace.',
    'Look which of the two is meant; let the newcomer run as the owner, name its uid in a rule (rules[].uids), or deregister the owner.',
  ),
  DUPLICATE_KEPT: refusal(
    S.ALREADY_EXISTS,
    'The name is taken by a plugin that is alive, and the policy keeps the incumbent.',
    'Stop the incumbent first, or set duplicates: newest for it.',
  ),
  DUPLICATE_REJECTED: refusal(
    S.ALREADY_EXISTS,
    'The name is taken and the policy refuses every newcomer.',
    'Deregister the incumbent first, or set duplicates: newest for it.',
  ),
  DEREGISTERED: refusal(
    S.PERMISSION_DENIED,
    'An operator has deregistered this incarnation.',
    'Restart the plugin, so that it comes with a new socket.',
  ),
  CAP_PLUGINS: refusal(
    S.RESOURCE_EXHAUSTED,
    'The broker holds as many plugins as admission.maxPlugins allows.',
    'Forget gone plugins, find what registers ever new names, or raise admission.maxPlugins.',
  ),
  CAP_LIST_BYTES: refusal(
    S.RESOURCE_EXHAUSTED,
    'All device lists together would exceed admission.maxListBytesTotal.',
    'Report fewer devices, or raise admission.maxListBytesTotal.',
  ),
  LIST_TOO_LARGE: refusal(
    S.RESOURCE_EXHAUSTED,
    'A device list exceeds admission.maxMessageBytes or admission.maxDevices.',
    'Report fewer devices, or raise the setting that the message names.',
  ),
  NO_LISTENER: refusal(
    S.UNAVAILABLE,
    'The endpoint exists, but no process listens on it.',
    'Serve first, then register; a socket file without a listener is a leftover of a dead process.',
  ),
  NOT_PERMITTED: refusal(
    S.PERMISSION_DENIED,
    'The broker may not connect to the endpoint: file permissions keep it out.',
    'Run the broker as root or as the user of the plugin, or let the plugin give the user of the broker write permission on its socket and search permission on its directory.',
  ),
  NO_ANSWER: refusal(
    S.DEADLINE_EXCEEDED,
    'The endpoint accepts connections, but does not answer.',
    'Look whether the plugin hangs or is stopped; check that it serves gRPC before it registers.',
  ),
  NOT_GRPC: refusal(
    S.UNAVAILABLE,
    'The listener on the endpoint does not speak gRPC over HTTP/2.',
    'Look whether the plugin crashed; name the socket of the plugin service, not another socket of the same program.',
  ),
  NOT_SERVED: refusal(
    S.UNIMPLEMENTED,
    'The endpoint speaks gRPC, but does not serve the service of its type.',
    'Serve v1beta1.DevicePlugin (or the service of the type) on the endpoint.',
  ),
  OPTIONS_FAILED: refusal(
    S.UNAVAILABLE,
    'GetDevicePluginOptions failed.',
    'Look at the error of the plugin in the message.',
  ),
  INFO_FAILED: refusal(S.UNAVAILABLE, 'GetInfo failed.', 'Look at the error of the plugin in the message.'),
  NODE_INFO_FAILED: refusal(
    S.UNAVAILABLE,
    'The CSI driver answered NodeGetInfo with an error.',
    'Look at the error of the driver in the message, and at the log of the driver.',
  ),
  NODE_ID_EMPTY: refusal(
    S.FAILED_PRECONDITION,
    'The CSI driver answered NodeGetInfo without a node id.',
    'Give the driver the name of its node; most drivers take it from an environment variable or a flag.',
  ),
  NODE_ID_TOO_LONG: refusal(
    S.FAILED_PRECONDITION,
    'The node id of the CSI driver exceeds the 256 bytes that the CSI specification allows, written as JSON.',
    'Configure a shorter node id.',
  ),
  NODE_INFO_INVALID: refusal(
    S.FAILED_PRECONDITION,
    'The answer to NodeGetInfo cannot be published: text that is not UTF-8, or a topology that no label can hold.',
    'Correct what the message names; topology keys and values must be valid Kubernetes labels.',
  ),
  SOCKET_SWAPPED: refusal(
    S.ABORTED,
    'The socket was replaced between the check and the connection.',
    'Register again; if it keeps happening, two processes fight over one path.',
  ),
  HANDLER_FAILED: refusal(
    S.UNAVAILABLE,
    'The handler of the plugin type could not complete the registration.',
    'Read the message: it names the call that failed.',
  ),
  BUSY: passing(S.RESOURCE_EXHAUSTED, 'As many registrations wait as may, in all or of one user.', 'Try again later.'),
  STOPPING: passing(S.UNAVAILABLE, 'The broker is stopping.', 'Register again with its successor.'),
} as const satisfies Record<string, ReasonSpec>;

/** A code with which a registration is refused. */
export type RefusalCode = keyof typeof REFUSALS;

/** A refusal as a value: answered on the wire, logged, counted and kept for `explain`. */
export interface Refusal {
  readonly code: RefusalCode;
  /** One sentence that names the plugin, the cause, and the figures. No trailing period. */
  readonly message: string;
  /** For refusals that are a matter of time: milliseconds until it is worth trying again. */
  readonly retryAfterMs?: number;
  /** A matter of time although its code is not: a caller that can wait waits. */
  readonly isPassing?: boolean;
  /** The connection that called is to be closed after the answer. */
  readonly disconnect?: boolean;
}

/** A refusal thrown out of deep work, to be answered as the value it carries. */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly refusal: Refusal;
  constructor(refusal: Refusal, cause?: unknown) {
    super(refusal.message, cause === undefined ? undefined : { cause });
    this.refusal = refusal;
  }
}

/** Whether a refusal is only a matter of time. */
export function isTransient(refusal: Refusal): boolean {
  return refusal.isPassing === true || REFUSALS[refusal.code].transient;
}

/**
 * The refusal that says why a plugin does not come in. A plugin that calls again and again is soon told to wait, which does not
 * name its mistake.
 *
 * @param refusals oldest first
 * @returns the last one that is not only a matter of time; where all are, the last
 */
export function tellingRefusal<R extends { readonly reason: string }>(refusals: readonly R[]): R | undefined {
  return refusals.findLast(({ reason }) => !isOfTime(reason)) ?? refusals.at(-1);
}

/** Whether a refusal with this code only says to wait. */
export function isOfTime(reason: string): boolean {
  return Object.hasOwn(REFUSALS, reason) && REFUSALS[reason as RefusalCode].transient;
}

/** A reason that is not a refusal. */
export type StateReason = keyof typeof STATE_REASONS;
/** Why an instance is in its state. */
export type Reason = StateReason | RefusalCode;

/** The meaning of a reason and the remedy; unknown codes (from an older checkpoint) get an honest answer. */
export function describeReason(reason: string): { readonly about: string; readonly remedy: string } {
  if (Object.hasOwn(REFUSALS, reason)) return REFUSALS[reason as RefusalCode];
  if (Object.hasOwn(CONNECTION_ENDS, reason)) return CONNECTION_ENDS[reason as ConnectionEndCode];
  if (Object.hasOwn(STATE_REASONS, reason)) {
    const [about, remedy] = STATE_REASONS[reason as StateReason];
    return { about, remedy };
  }
  if (Object.hasOwn(ALLOCATION_REFUSALS, reason)) return ALLOCATION_REFUSALS[reason as AllocationCode];
  if (Object.hasOwn(LEASE_REASONS, reason)) {
    const [about, remedy] = LEASE_REASONS[reason as LeaseReason];
    return { about, remedy };
  }
  const about = `The reason ${reason} is not known to this version.`;
  return { about, remedy: 'Read the notes of the version that wrote it.' };
}
