import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { decodeCheckpoint } from '../../../src/checkpoint/decode.js';
import { DOCUMENT_MEMBERS, ENTRY_MEMBERS, TOMBSTONE_MEMBERS } from '../../../src/checkpoint/format.js';
import { entryKey } from '../../../src/checkpoint/document.js';
import { CheckpointCodec } from '../../../src/checkpoint/codec.js';
import { seal, unseal } from '../../../src/checkpoint/envelope.js';
import { arbitraryCheckpoint } from '../../support/arbitrary-checkpoint.js';
import { checkpointSchema } from '../../support/checkpoint-schema.js';
import { facts } from '../../support/checkpoint-rig.js';

/** Everything but the envelope, as text to be sealed again. */
function membersOf(document: Record<string, unknown>): string {
  return Object.entries(document)
    .filter(([name]) => name !== 'format' && name !== 'sha256')
    .map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)},\n`)
    .join('');
}

const someJson = fc.oneof(
  fc.constantFrom<unknown>(null, -1, 1.5, 1e300, '', 'x', true, [], {}, [[]], ['x'], [{}], { sha256: '../x' }),
  fc.jsonValue({ maxDepth: 1 }),
);

describe('the document of a checkpoint', () => {
  it('is the same after encoding and decoding, with any names and unknown fields', () => {
    fc.assert(
      fc.property(arbitraryCheckpoint, (document) => {
        assert.deepEqual(decodeCheckpoint(new CheckpointCodec().encode(document)), { kind: 'document', document });
      }),
    );
  });

  it('is encoded the same by an encoder that has seen its parts before', () => {
    fc.assert(
      fc.property(arbitraryCheckpoint, arbitraryCheckpoint, (one, other) => {
        const warm = new CheckpointCodec();
        warm.encode(one);
        const mixed = { ...other, plugins: [...one.plugins, ...other.plugins], limits: one.limits };
        assert.ok(warm.encode(mixed).equals(new CheckpointCodec().encode(mixed)));
        assert.ok(warm.encode(mixed).equals(new CheckpointCodec().encode(mixed)));
      }),
      { numRuns: 30 },
    );
  });

  it('is accepted exactly when the schema of the format accepts it', () => {
    const path = fc.constantFrom(
      ...DOCUMENT_MEMBERS.filter((name) => name !== 'format' && name !== 'sha256').map((name) => [name]),
      ...ENTRY_MEMBERS.map((name) => ['plugins', '0', name]),
      ...TOMBSTONE_MEMBERS.map((name) => ['tombstones', '0', name]),
      ...['sha256', 'bytes', 'devices', 'inline'].map((name) => ['plugins', '0', 'list', name]),
      ...['dev', 'ino', 'birthNs'].map((name) => ['plugins', '0', 'socket', name]),
    );
    const damage = fc.record({ path, value: fc.option(someJson, { nil: undefined }) });
    const tally = { accepted: 0, refused: 0 };
    fc.assert(
      fc.property(arbitraryCheckpoint, damage, (document, { path: at, value }) => {
        const raw = JSON.parse(new CheckpointCodec().encode(document).toString()) as Record<string, unknown>;
        put(raw, at, value);
        const decoded = decodeCheckpoint(seal(2, [Buffer.from(membersOf(raw))]));
        const isAccepted = checkpointSchema.safeParse(raw).success;
        assert.equal(decoded.kind, isAccepted ? 'document' : 'damaged', JSON.stringify(decoded));
        tally[isAccepted ? 'accepted' : 'refused'] += 1;
      }),
      { numRuns: 500 },
    );
    assert.ok(tally.accepted > 50 && tally.refused > 50, JSON.stringify(tally));
  });

  it('names the member that is wrong', () => {
    const encoded = new CheckpointCodec().encode({
      generation: 1,
      bootId: 'b',
      writtenAt: '',
      eventSeq: 0,
      plugins: [{ ...facts('vendor.com/gpu'), bootId: 'b' }],
      limits: [],
      tombstones: [],
      csi: new Map(),
      ledger: 'ok',
      leases: [],
      extra: new Map(),
    });
    const raw = JSON.parse(encoded.toString()) as Record<string, unknown>;
    put(raw, ['plugins', '0', 'uid'], 'root');
    assert.deepEqual(decodeCheckpoint(seal(2, [Buffer.from(membersOf(raw))])), {
      kind: 'damaged',
      problem: 'plugins[0].uid must be a whole number that is not negative',
    });
  });

  it('is damaged when it is sealed and yet no JSON object', () => {
    for (const members of ['"a":,\n', '"a":1,\n}{', '"generation":1,\n']) {
      const bytes = seal(2, [Buffer.from(members)]);
      assert.equal(unseal(bytes).kind, 'sealed');
      assert.equal(decodeCheckpoint(bytes).kind, 'damaged', members);
    }
  });

  it('knows entries by type, name and the socket that registered', () => {
    assert.equal(entryKey(facts('a.b/c', 1)), 'DevicePlugin/a.b/c@66305:1001:1893456000000000000');
    assert.notEqual(entryKey(facts('a.b/c', 1)), entryKey(facts('a.b/c', 2)));
  });
});

/** Sets or, with undefined, removes a member deep inside; where the way there is missing nothing happens. */
function put(raw: unknown, at: readonly string[], value: unknown): void {
  const [head, ...rest] = at;
  if (typeof raw !== 'object' || raw === null || head === undefined) return;
  const holder = raw as Record<string, unknown>;
  if (rest.length > 0) put(holder[head], rest, value);
  else if (value === undefined) Reflect.deleteProperty(holder, head);
  else holder[head] = value;
}
