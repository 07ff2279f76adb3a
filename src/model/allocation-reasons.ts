// The closed table of reasons of allocation: why devices are refused, and why a lease is in its state or ended. Codes are
// stable; docs/reasons.md is compared with them by a test.

/** Names of gRPC status codes, as far as they are answered here. */
type StatusName =
  | 'ABORTED'
  | 'ALREADY_EXISTS'
  | 'FAILED_PRECONDITION'
  | 'INVALID_ARGUMENT'
  | 'NOT_FOUND'
  | 'PERMISSION_DENIED'
  | 'RESOURCE_EXHAUSTED'
  | 'UNAVAILABLE';

/** The table's row of a refused call at alloc.sock. */
export interface AllocationRefusalSpec {
  /** The status on the wire. */
  readonly status: StatusName;
  /** Its meaning, in one line. */
  readonly about: string;
  /** The remedy. */
  readonly remedy: string;
}

const refusal = (status: StatusName, about: string, remedy: string): AllocationRefusalSpec => ({
  status,
  about,
  remedy,
});

/** Codes that refuse a call at alloc.sock. */
export const ALLOCATION_REFUSALS = {
  WANT_INVALID: refusal(
    'INVALID_ARGUMENT',
    'The request could not be decoded, or a field of it is not possible.',
    'Correct what the message names; proto/pluginbroker/v1/allocator.proto says what each field takes.',
  ),
  RESOURCE_UNKNOWN: refusal(
    'NOT_FOUND',
    'No plugin has offered that resource.',
    'See `plugin-broker resources`; start the plugin, or correct the name.',
  ),
  DEVICE_UNKNOWN: refusal(
    'NOT_FOUND',
    'The resource has no device with that id.',
    'See `plugin-broker resources NAME`; a number after = is a count, and a device called so is asked for by its id.',
  ),
  DEVICE_TAKEN: refusal(
    'RESOURCE_EXHAUSTED',
    'A device that was asked for by its id is in another lease.',
    'Wait for it with a wait, or ask for another one; `plugin-broker allocations` shows who has what.',
  ),
  NO_DEVICES: refusal(
    'RESOURCE_EXHAUSTED',
    'Not enough healthy devices of a resource were free in time.',
    'Ask for fewer, or wait longer; `plugin-broker allocations` shows who has what.',
  ),
  PLUGIN_NOT_READY: refusal(
    'UNAVAILABLE',
    'The plugin of the resource is away: lost, restarting or quarantined.',
    'Wait for it with a wait; `plugin-broker explain NAME` says what is the matter.',
  ),
  PLUGIN_FAILED: refusal(
    'ABORTED',
    'The plugin answered Allocate with an error, with nothing that can be used, or not in time.',
    'Read its words in the message and its log, and ask again.',
  ),
  RESPONSE_CONFLICT: refusal(
    'FAILED_PRECONDITION',
    'Two plugins gave one variable, path or annotation different meanings.',
    'Ask for the resources in two leases, or name the variable in allocator.joinEnv where its values may be joined.',
  ),
  LEDGER_NOT_WRITABLE: refusal(
    'UNAVAILABLE',
    'The disk does not take the allocation, so it was not made, or the renewal of a lease, which goes on as it was.',
    'See `plugin-broker status`: free the disk, or let the broker write to its state directory.',
  ),
  LEDGER_UNKNOWN: refusal(
    'FAILED_PRECONDITION',
    'Nobody knows what was allocated before: the checkpoint cannot be used.',
    'Stop what may still use devices, then `plugin-broker allocations reset`.',
  ),
  KEY_IN_USE: refusal(
    'ALREADY_EXISTS',
    'The key names a lease that was asked for with another request.',
    'Release that lease first, or use another key.',
  ),
  NOT_OWNER: refusal(
    'PERMISSION_DENIED',
    'The lease belongs to another uid.',
    'Call as the uid that asked for the lease, or as root.',
  ),
  LEASE_UNKNOWN: refusal(
    'NOT_FOUND',
    'There is no such lease, or not any more.',
    'Ask for devices again; `plugin-broker events` says why a lease ended.',
  ),
  OWNER_NOT_SEEN: refusal(
    'FAILED_PRECONDITION',
    'The process or control group that the lease would be bound to cannot be seen by the broker.',
    'Use a key: it needs no process that the broker can see.',
  ),
  UID_NOT_ALLOWED: refusal(
    'PERMISSION_DENIED',
    'A rule names the uids that may have this resource, and the caller is none of them.',
    'Call as one of them, or change rules[].allocate.uids.',
  ),
  UID_LIMIT: refusal(
    'RESOURCE_EXHAUSTED',
    'The uid would have more devices of the resource than a rule allows.',
    'Release some, or raise rules[].allocate.max.',
  ),
  CONSUMER_IS_KUBELET: refusal(
    'FAILED_PRECONDITION',
    'The devices of this resource are for the pods of the kubelet, or pods may still have some of them.',
    'Set allocate: {consumer: local} in a rule for it, or ask for another resource; `plugin-broker explain` says what is waited for.',
  ),
  FLOOD_ALLOCATE: refusal(
    'RESOURCE_EXHAUSTED',
    'This uid asks for devices more often than its limit allows.',
    'Wait the seconds that the answer names; use a wait instead of asking again and again.',
  ),
  QUEUE_FULL: refusal(
    'RESOURCE_EXHAUSTED',
    'As many requests wait for devices, or callers for one key, as may wait, or as one user may have waiting.',
    'Try again later.',
  ),
  LEASES_FULL: refusal(
    'RESOURCE_EXHAUSTED',
    'There are as many leases as allocator.maxLeases allows, or they take all the room that the checkpoint has; one user has a part of both.',
    'Release leases that nobody needs, or raise allocator.maxLeases.',
  ),
  ALLOCATOR_STOPPING: refusal('UNAVAILABLE', 'The broker is stopping.', 'Ask its successor again, with the same key.'),
} as const satisfies Record<string, AllocationRefusalSpec>;

/** A code with which a call at alloc.sock is refused. */
export type AllocationCode = keyof typeof ALLOCATION_REFUSALS;

/** A refusal as a value: answered on the wire, counted, told in events where an operator should know. */
export interface AllocationRefusal {
  readonly code: AllocationCode;
  /** One sentence with names and figures. No trailing period. */
  readonly message: string;
  /** The resource, where a plugin offers it: the number of such names is bounded, that of names in requests is not. */
  readonly resource?: string;
  /** Milliseconds until it is worth trying again, where that is known. */
  readonly retryAfterMs?: number;
}

/** The reasons for a lease's state, or for its end: the meaning, and the remedy. */
export const LEASE_REASONS = {
  'device-unhealthy': ['A device of the lease is not healthy any more.', 'Look at the plugin and the device.'],
  'device-missing': [
    'The plugin does not list a device of the lease any more.',
    'Release the lease, or bring the device back.',
  ],
  'device-node-missing': [
    'A device node of the lease does not exist on this machine.',
    'Load the driver; after a boot some make their nodes late.',
  ],
  'answer-lost': [
    "The file with the plugins' answers for the lease is missing or damaged.",
    'Ask again with the same key: the plugins are asked once more for the same devices.',
  ],
  'plugin-gone': [
    'The plugin of a resource of the lease is gone; the lease stays.',
    'Start the plugin, or release the lease.',
  ],
  'owner-unseen': [
    'After a restart the owner of the lease was not seen yet.',
    'Nothing to do; the owner of a key confirms it by asking, renewing or attaching again.',
  ],
  'by-request': ['The lease was released by its owner, or by root.', 'Nothing to do.'],
  'owner-ended': ['The process or control group that the lease was bound to ended.', 'Nothing to do.'],
  'ttl-over': ['The time to live of the lease was over.', 'Renew leases in time, or ask without a time to live.'],
  'boot-over': ['The machine was started again, and the owner ended with it.', 'Nothing to do.'],
  'ledger-recovered': [
    'The newest checkpoint is lost; a CDI file of this boot still names these devices.',
    'Release the lease with key recovered once nobody uses the devices.',
  ],
  'ledger-reset': ['An operator emptied the ledger.', 'Nothing to do.'],
} as const satisfies Record<string, readonly [about: string, remedy: string]>;

/** Why a lease is in its state, or ended. */
export type LeaseReason = keyof typeof LEASE_REASONS;
