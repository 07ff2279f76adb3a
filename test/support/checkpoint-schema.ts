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
  sentAway: z.boolean().optional(),
  firstRegisteredAt: z.string(),
  lastRegisteredAt: z.string(),
  registrations: count,
  facts: record,
  list: z
    .looseObject({
      sha256: z.string().regex(/^[0-9a-f]{64}$/),
      bytes: count,
      devices: count,
      healthy: count.optional(),
      inline: z.string().optional(),
    })
    .optional(),
});

const lease = z.looseObject({
  id: z.string(),
  uid: count,
  key: z.string().optional(),
  owner: z.looseObject({
    bind: z.enum(['process', 'cgroup', 'key']),
    namespace: z.string(),
    name: z.string(),
    part: z.string(),
    process: z.looseObject({ pid: count, startTime: z.string() }).optional(),
    cgroup: z.looseObject({ path: z.string(), inode: z.string() }).optional(),
  }),
  wants: z.array(
    z.looseObject({
      resource: z.string(),
      count,
      ids: z.array(z.string()),
      numa: z.enum(['single', 'prefer']),
    }),
  ),
  granted: z.array(
    z.looseObject({
      resource: z.string(),
      devices: z.array(z.looseObject({ id: z.string(), numaNodes: z.array(z.int()) })),
    }),
  ),
  answer: z
    .looseObject({
      envs: z.record(z.string(), z.string()),
      mounts: z.array(z.looseObject({ containerPath: z.string(), hostPath: z.string(), readOnly: z.boolean() })),
      devices: z.array(z.looseObject({ containerPath: z.string(), hostPath: z.string(), permissions: z.string() })),
      annotations: z.record(z.string(), z.string()),
      cdiDevices: z.array(z.string()),
    })
    .optional(),
  answerFile: z.looseObject({ sha256: z.string().regex(/^[0-9a-f]{64}$/), bytes: count }).optional(),
  createdAt: z.string().refine((time) => !Number.isNaN(Date.parse(time))),
  ttlMs: count.optional(),
  renewed: z.looseObject({ bootMs: count, wallMs: count }).optional(),
  bootId: z.string(),
  recovers: z.array(z.string()).optional(),
});

/** Format 2. */
export const checkpointSchema = z.looseObject({
  generation: count,
  bootId: z.string(),
  writtenAt: z.string(),
  eventSeq: count,
  plugins: z.array(entry),
  limits: z.array(z.unknown()),
  tombstones: z.array(z.looseObject({ type: z.string(), name: z.string(), incarnation, time: z.string() })),
  csi: record,
  ledger: z.looseObject({ state: z.enum(['ok', 'stale', 'unknown']) }),
  leases: z.array(lease),
});
