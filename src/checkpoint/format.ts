// The names of format 1; docs/checkpoint-format.md says what each means.

/** The number of the format this version writes. */
export const FORMAT = 1;

/** The members of a document that format 1 knows, in the order in which they are written. */
export const DOCUMENT_MEMBERS = [
  'format',
  'generation',
  'bootId',
  'writtenAt',
  'eventSeq',
  'plugins',
  'limits',
  'tombstones',
  'csi',
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
  'firstRegisteredAt',
  'lastRegisteredAt',
  'registrations',
  'facts',
  'list',
] as const;
/** The members of an entry of `tombstones`. */
export const TOMBSTONE_MEMBERS = ['type', 'name', 'incarnation', 'time'] as const;
