import fc from 'fast-check';
import { ENTRY_MEMBERS, LEASE_MEMBERS, TOMBSTONE_MEMBERS, DOCUMENT_MEMBERS } from '../../src/checkpoint/format.js';
import type {
  CheckpointDocument,
  LeaseEntry,
  PluginEntry,
  Tombstone,
  UnknownFields,
} from '../../src/checkpoint/document.js';

const names = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.constantFrom('__proto__', 'constructor', 'vendor.com/gpu', 'größe/✓'),
);
const jsonObject = fc
  .array(fc.tuple(names, fc.jsonValue({ maxDepth: 2 })), { maxLength: 3 })
  .map((pairs) => JSON.parse(JSON.stringify(Object.fromEntries(pairs))) as Record<string, unknown>);
const count = fc.nat();

function extra(known: readonly string[]): fc.Arbitrary<UnknownFields> {
  return fc
    .array(fc.tuple(names, fc.jsonValue({ maxDepth: 1 })), { maxLength: 2 })
    .map((pairs) => new Map(JSON.parse(JSON.stringify(pairs)) as [string, unknown][]))
    .map((fields) => new Map([...fields].filter(([name]) => !known.includes(name) && !/^\d+$/.test(name))));
}

function withExtra<T extends object>(item: T, fields: UnknownFields): T & { extra?: UnknownFields } {
  return fields.size === 0 ? item : { ...item, extra: fields };
}

const incarnation = fc.record({ dev: names, ino: names, birthNs: names }, { noNullPrototype: true });
const storedList = fc.record(
  {
    sha256: fc.string({ unit: fc.constantFrom(...Array.from('0123456789abcdef')), minLength: 64, maxLength: 64 }),
    bytes: count,
    devices: count,
    inline: fc.base64String({ maxLength: 16 }),
  },
  { requiredKeys: ['sha256', 'bytes', 'devices'], noNullPrototype: true },
);
const entry: fc.Arbitrary<PluginEntry> = fc
  .tuple(
    fc.record(
      {
        type: names,
        name: names,
        door: fc.constantFrom('register' as const, 'watcher' as const),
        endpoint: names,
        endpointPath: names,
        endpointSocket: incarnation,
        socketPath: names,
        socket: incarnation,
        bootId: names,
        uid: count,
        pid: count,
        versions: fc.array(names, { maxLength: 2 }),
        version: names,
        options: jsonObject,
        primary: fc.boolean(),
        sentAway: fc.boolean(),
        firstRegisteredAt: names,
        lastRegisteredAt: names,
        registrations: count,
        facts: jsonObject,
        list: storedList,
      },
      {
        requiredKeys: ENTRY_MEMBERS.filter((name) => name !== 'pid' && name !== 'list' && name !== 'sentAway'),
        noNullPrototype: true,
      },
    ),
    extra(ENTRY_MEMBERS),
  )
  .map(([facts, fields]) => withExtra(facts as PluginEntry, fields));
const tombstone: fc.Arbitrary<Tombstone> = fc
  .tuple(
    fc.record({ type: names, name: names, incarnation, time: names }, { noNullPrototype: true }),
    extra(TOMBSTONE_MEMBERS),
  )
  .map(([facts, fields]) => withExtra(facts, fields));

const texts = fc
  .dictionary(names, names, { maxKeys: 2, noNullPrototype: true })
  .map((all) => new Map(Object.entries(all)));
const leaseId = fc.stringMatching(/^[0-9a-z]{26}$/);
const lease: fc.Arbitrary<LeaseEntry> = fc
  .tuple(
    fc.record(
      {
        id: leaseId,
        uid: count,
        key: fc.option(names, { nil: undefined }),
        owner: fc.record(
          {
            bind: fc.constantFrom('process' as const, 'cgroup' as const, 'key' as const),
            namespace: names,
            name: names,
            part: names,
            process: fc.record({ pid: count, startTime: names }, { noNullPrototype: true }),
            cgroup: fc.record({ path: names, inode: names }, { noNullPrototype: true }),
          },
          { requiredKeys: ['bind', 'namespace', 'name', 'part'], noNullPrototype: true },
        ),
        wants: fc.array(
          fc.record(
            {
              resource: names,
              count,
              ids: fc.array(names, { maxLength: 2 }),
              numa: fc.constantFrom('single' as const, 'prefer' as const),
            },
            { noNullPrototype: true },
          ),
          { maxLength: 2 },
        ),
        granted: fc.array(
          fc.record(
            {
              resource: names,
              devices: fc.array(
                fc.record(
                  { id: names, numaNodes: fc.array(fc.maxSafeInteger(), { maxLength: 2 }) },
                  { noNullPrototype: true },
                ),
                { maxLength: 2 },
              ),
            },
            { noNullPrototype: true },
          ),
          { maxLength: 2 },
        ),
        answer: fc.record(
          {
            envs: texts,
            mounts: fc.array(
              fc.record({ containerPath: names, hostPath: names, readOnly: fc.boolean() }, { noNullPrototype: true }),
              { maxLength: 2 },
            ),
            devices: fc.array(
              fc.record({ containerPath: names, hostPath: names, permissions: names }, { noNullPrototype: true }),
              { maxLength: 2 },
            ),
            annotations: texts,
            cdiDevices: fc.array(names, { maxLength: 2 }),
          },
          { noNullPrototype: true },
        ),
        createdAt: fc.integer({ min: 0, max: 4_000_000_000_000 }),
        ttlMs: fc.option(count, { nil: undefined }),
        renewed: fc.record({ bootMs: count, wallMs: count }, { noNullPrototype: true }),
        bootId: names,
        recovers: fc.array(leaseId, { maxLength: 2 }),
      },
      {
        requiredKeys: LEASE_MEMBERS.filter(
          (name) => name !== 'renewed' && name !== 'answerFile' && name !== 'recovers',
        ),
        noNullPrototype: true,
      },
    ),
    extra(LEASE_MEMBERS),
  )
  .map(([facts, fields]) => withExtra(facts as LeaseEntry, fields));

/** Documents of every shape that the types allow, with hostile names and fields of newer versions. */
export const arbitraryCheckpoint: fc.Arbitrary<CheckpointDocument> = fc.record(
  {
    generation: count,
    bootId: names,
    writtenAt: names,
    eventSeq: count,
    plugins: fc.array(entry, { maxLength: 3 }),
    limits: fc.array(jsonObject, { maxLength: 2 }),
    tombstones: fc.array(tombstone, { maxLength: 2 }),
    csi: jsonObject.map((facts) => new Map(Object.entries(facts))),
    ledger: fc.constantFrom('ok' as const, 'stale' as const, 'unknown' as const),
    leases: fc.array(lease, { maxLength: 2 }),
    extra: extra(DOCUMENT_MEMBERS),
  },
  { noNullPrototype: true },
);
