// The names of format 2; docs/checkpoint-format.md explains each.

/** The number of the format this version writes. */
export const FORMAT = 2;

/** The members of a document that format 2 knows, in the order in which they are written. */
export const DOCUMENT_MEMBERS = [
  'format',
  'bootId',
  'plugins',
  'limits',
  'tombstones',
  'csi',
  'ledger',
  'leases',
  'generation',
  'writtenAt',
  'eventSeq',
  'sha256',
] as const;
/** The members of an entry of `plugins`. */
export const ENTRY_MEMBERS = [
  'type',
  'name',
  'door',
  'endpoint',
  'endpointPath',
  'endpointSocket',
  'socketPath',
  'socket',
  'bootId',
  'uid',
  'pid',
  'versions',
  'version',
  'options',
  'primary',
  'sentAway',
  'firstRegisteredAt',
  'lastRegisteredAt',
  'registrations',
  'facts',
  'list',
] as const;
/** The members of an entry of `tombstones`. */
export const TOMBSTONE_MEMBERS = ['type', 'name', 'incarnation', 'time'] as const;
/** The members of an entry of `leases`. */
export const LEASE_MEMBERS = [
  'id',
  'uid',
  'key',
  'owner',
  'wants',
  'granted',
  'answer',
  'answerFile',
  'createdAt',
  'ttlMs',
  'renewed',
  'bootId',
  'recovers',
] as const;
