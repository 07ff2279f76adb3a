import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { decodeCheckpoint } from '../../../src/checkpoint/decode.js';
import { emptyDocument } from '../../../src/checkpoint/document.js';
import { CheckpointCodec } from '../../../src/checkpoint/codec.js';
import { seal } from '../../../src/checkpoint/envelope.js';
import { FORMAT } from '../../../src/checkpoint/format.js';
import { checkpointRig, facts } from '../../support/checkpoint-rig.js';
import { STATE } from '../../support/checkpoint-story.js';
import { FakeClock } from '../../support/fake-clock.js';
import { FakeDisk } from '../../support/fake-disk.js';

const FILE = `${STATE}/checkpoint.json`;
const gpu = facts('vendor.com/gpu', 1);
const nic = facts('vendor.com/nic', 2);

/** A whole checkpoint with one plugin, in which some text is replaced before it is sealed. */
function sealed(from: string, to: string): Buffer {
  const document = { ...emptyDocument('boot-1'), generation: 7, plugins: [{ ...gpu, bootId: 'boot-1' }] };
  const text = new CheckpointCodec().encode(document).toString();
  const members = text.slice(text.indexOf('\n') + 1, text.lastIndexOf('"sha256":"'));
  assert.ok(members.includes(from), from);
  return seal(FORMAT, [Buffer.from(members.replace(from, to))]);
}

function nested(levels: number): string {
  return '['.repeat(levels) + ']'.repeat(levels);
}

async function diskWith(bytes: Buffer): Promise<FakeDisk> {
  const disk = new FakeDisk();
  await disk.makeDirectory('/broker');
  await disk.makeDirectory(STATE);
  disk.plant(FILE, bytes);
  return disk;
}

const TOO_DEEP: readonly (readonly [place: string, from: string, to: string])[] = [
  ['an unknown member', '"leases":[]', `"leases":[],\n"future":${nested(8000)}`],
  ['an unknown member of a plugin', '"uid":0', `"uid":0,"future":${nested(8000)}`],
  ['the facts of a plugin', '"facts":{}', `"facts":{"a":${nested(8000)}}`],
  ['an unknown member of a lease', '"leases":[]', `"leases":[{"future":${nested(8000)}}]`],
  ['the limits', '"limits":[]', `"limits":${nested(8000)}`],
  ['the node facts of CSI drivers', '"csi":{}', `"csi":{"a":${nested(8000)}}`],
];

describe('a checkpoint that is sealed and hostile', () => {
  for (const [place, from, to] of TOO_DEEP) {
    it(`is damaged when ${place} nests 8,000 levels deep, and writes go on`, async () => {
      const disk = await diskWith(sealed(from, to));
      const { store } = checkpointRig(disk, STATE, new FakeClock());
      const { view } = await store.open();
      assert.match(view.reason, /^checkpoint\.json cannot be used: it nests more than 64 levels deep/);
      assert.equal(await store.update((draft) => draft.put(nic)), 'durable');
      store.close();
    });
  }

  it('is damaged where the id of a lease would lead to a file elsewhere, or its time is no date any more', () => {
    const plain = {
      ...{ id: '01k9r4e7aaaaaaaaaaaaaaaaaa', uid: 0, owner: { bind: 'key', namespace: 'a', name: 'b', part: '' } },
      ...{ wants: [], granted: [], createdAt: '2026-11-01T10:00:00.000Z', bootId: 'boot-1' },
      answer: { envs: {}, mounts: [], devices: [], annotations: {}, cdiDevices: [] },
    };
    const renewed = { bootMs: 0, wallMs: 0 };
    const decoded = (lease: object): string => {
      const found = decodeCheckpoint(sealed('"leases":[]', `"leases":[\n${JSON.stringify(lease)}\n]`));
      return found.kind === 'damaged' ? found.problem : found.kind;
    };
    assert.equal(decoded(plain), 'document');
    assert.equal(decoded({ ...plain, ttlMs: 1000, renewed }), 'document');
    for (const id of ['/../../../etc/cron.d/x', '..', '', 'a\u0000b', 'a\n'])
      assert.equal(decoded({ ...plain, id }), 'id of a lease must be letters and digits');
    assert.match(decoded({ ...plain, ttlMs: Number.MAX_SAFE_INTEGER, renewed }), /^ttlMs of a lease must be a time/);
  });

  it('keeps unknown members that nest as deep as a format might', async () => {
    const disk = await diskWith(sealed('"leases":[]', `"leases":[],\n"future":${nested(63)}`));
    const { store } = checkpointRig(disk, STATE, new FakeClock());
    assert.equal((await store.open()).view.state, 'ok');
    assert.equal(await store.update((draft) => draft.put(nic)), 'durable');
    store.close();
    assert.ok(
      disk
        .peek(FILE)
        ?.toString()
        .includes(`"future":${nested(63)},\n`),
    );
  });

  for (const [name, from] of [
    ['generation', '"generation":7'],
    ['eventSeq', '"eventSeq":0'],
    ['registrations', '"registrations":1'],
  ] as const) {
    it(`starts ${name} afresh when no broker can have counted so far, and keeps the plugins over two more starts`, async () => {
      const disk = await diskWith(sealed(from, `"${name}":${Number.MAX_SAFE_INTEGER}`));
      for (const start of [1, 2]) {
        const { store } = checkpointRig(disk, STATE, new FakeClock());
        const opened = await store.open();
        assert.deepEqual([opened.view.state, store.contents.plugins.size], ['ok', start], opened.view.reason);
        const [entry] = store.contents.plugins.values();
        const counted = {
          generation: opened.view.generation,
          eventSeq: opened.eventSeq,
          registrations: entry?.registrations,
        };
        assert.ok((counted[name] ?? NaN) < 10, `${name} is ${counted[name]}`);
        assert.equal(await store.update((draft) => draft.put(nic)), 'durable');
        store.close();
        assert.equal(decodeCheckpoint(disk.peek(FILE) ?? Buffer.alloc(0)).kind, 'document');
      }
    });
  }

  it('loses nothing when a number of its own passes what a start believes', async () => {
    const disk = await diskWith(sealed('"generation":7', `"generation":${2 ** 48}`));
    for (const generation of [2 ** 48, 0, 1]) {
      const { store } = checkpointRig(disk, STATE, new FakeClock());
      const { view } = await store.open();
      assert.deepEqual([view.state, view.generation], ['ok', generation]);
      await store.update((draft) => draft.put(nic));
      store.close();
    }
  });
});
