import { z } from 'zod';

// The format as a schema, written apart from the decoder: the two must agree on every document.
const count = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const incarnation = z.looseObject({ dev: z.string(), ino: z.string(), birthNs: z.string() });
const record = z.record(z.string(), z.unknown());

const entry = z.looseObject({
  type: z.string(),
  name: z.string(),
  door: z.enum(['register', 'watcher']),
  endpoint: z.string(),
  endpointPath: z.string(),
  endpointSocket: incarnation,
  socketPath: z.string(),
  socket: incarnation,
  bootId: z.string(),
  uid: count,
  pid: count.optional(),
  versions: z.array(z.string()),
  version: z.string(),
  options: record,
  primary: z.boolean(),
  firstRegisteredAt: z.string(),
  lastRegisteredAt: z.string(),
  registrations: count,
  facts: record,
  list: z
    .looseObject({
      sha256: z.string().regex(/^[0-9a-f]{64}$/),
      bytes: count,
      devices: count,
      inline: z.string().optional(),
    })
    .optional(),
});

/** Format 1. */
export const checkpointSchema = z.looseObject({
  generation: count,
  bootId: z.string(),
  writtenAt: z.string(),
  eventSeq: count,
  plugins: z.array(entry),
  limits: z.array(z.unknown()),
  tombstones: z.array(z.looseObject({ type: z.string(), name: z.string(), incarnation, time: z.string() })),
  csi: record,
});
