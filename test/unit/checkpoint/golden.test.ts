import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { createHash } from 'node:crypto';
import { decodeCheckpoint } from '../../../src/checkpoint/decode.js';
import type { CheckpointDocument } from '../../../src/checkpoint/document.js';
import { CheckpointCodec } from '../../../src/checkpoint/codec.js';
import {
  DOCUMENT_MEMBERS,
  ENTRY_MEMBERS,
  FORMAT,
  LEASE_MEMBERS,
  TOMBSTONE_MEMBERS,
} from '../../../src/checkpoint/format.js';

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../../..');
const GOLDEN = path.join(ROOT, 'test/golden/checkpoint');

const gpuSocket = { dev: '66305', ino: '1835026', birthNs: '1893456000123456789' };
const csiSocket = { dev: '66305', ino: '1835099', birthNs: '1893456000223456789' };
const csiEndpoint = { dev: '66305', ino: '1835098', birthNs: '1893456000213456789' };

/** The meaning of the file of format 1 to this version: nothing had ever been given out. */
const MEANING_OF_1: CheckpointDocument = {
  generation: 42,
  bootId: '6f1b0c9e-52c1-4a55-9d6f-0c1f3f1f8a11',
  writtenAt: '2030-01-01T00:00:05.250Z',
  eventSeq: 1234,
  plugins: [
    {
      type: 'DevicePlugin',
      name: 'vendor.com/gpu',
      door: 'register',
      endpoint: 'gpu.sock',
      endpointPath: '/var/lib/plugin-broker/device-plugins/gpu.sock',
      endpointSocket: gpuSocket,
      socketPath: '/var/lib/plugin-broker/device-plugins/gpu.sock',
      socket: gpuSocket,
      bootId: '6f1b0c9e-52c1-4a55-9d6f-0c1f3f1f8a11',
      uid: 0,
      pid: 4711,
      versions: ['v1beta1'],
      version: 'v1beta1',
      options: { preStartRequired: false, getPreferredAllocationAvailable: true },
      primary: true,
      firstRegisteredAt: '2030-01-01T00:00:01.000Z',
      lastRegisteredAt: '2030-01-01T00:00:04.000Z',
      registrations: 3,
      facts: {},
      list: {
        sha256: '0e4ba92badd7cd53de901d8d22a5ebe6712eacf46d3c81897744052411317383',
        bytes: 17,
        devices: 1,
        inline: 'Cg8KBGdwdTASB0hlYWx0aHk=',
      },
      extra: new Map([['fromTheFuture', { a: 1 }]]),
    },
    {
      type: 'CSIPlugin',
      name: 'csi.vendor.com',
      door: 'watcher',
      endpoint: '/var/lib/kubelet/plugins/csi.vendor.com/csi.sock',
      endpointPath: '/var/lib/kubelet/plugins/csi.vendor.com/csi.sock',
      endpointSocket: csiEndpoint,
      socketPath: '/var/lib/plugin-broker/plugins_registry/csi.vendor.com-reg.sock',
      socket: csiSocket,
      bootId: '',
      uid: 1000,
      versions: ['1.0.0', '1.1.0'],
      version: '1.1.0',
      options: {},
      primary: false,
      firstRegisteredAt: '2030-01-01T00:00:02.000Z',
      lastRegisteredAt: '2030-01-01T00:00:02.000Z',
      registrations: 1,
      facts: { nodeId: 'node-a' },
    },
    {
      type: 'DevicePlugin',
      name: 'vendor.com/nic',
      door: 'register',
      endpoint: 'nic.sock',
      endpointPath: '/var/lib/plugin-broker/device-plugins/nic.sock',
      endpointSocket: { ...gpuSocket, ino: '1835030' },
      socketPath: '/var/lib/plugin-broker/device-plugins/nic.sock',
      socket: { ...gpuSocket, ino: '1835030' },
      bootId: '6f1b0c9e-52c1-4a55-9d6f-0c1f3f1f8a11',
      uid: 0,
      versions: ['v1beta1'],
      version: 'v1beta1',
      options: {},
      primary: true,
      firstRegisteredAt: '2030-01-01T00:00:03.000Z',
      lastRegisteredAt: '2030-01-01T00:00:03.000Z',
      registrations: 1,
      facts: {},
      list: { sha256: '24bf496068da3ff0f6cc5a95dedc5a891c3b59be9036bca100b585955257e61b', bytes: 1344, devices: 64 },
    },
  ],
  limits: [{ plugin: 'DevicePlugin/vendor.com/gpu', uid: 0, strikes: 4 }],
  tombstones: [
    {
      type: 'DevicePlugin',
      name: 'vendor.com/old',
      incarnation: { ...gpuSocket, ino: '1835001' },
      time: '2030-01-01T00:00:00.000Z',
      extra: new Map([['by', 'ops']]),
    },
  ],
  csi: new Map([['csi.vendor.com', { nodeID: 'node-a', topologyKeys: ['zone'], allocatable: { count: 25 } }]]),
  ledger: 'ok',
  leases: [],
  extra: new Map<string, unknown>([['fromTheFuture', [1, 2, 3]]]),
};

const NO_ANSWER = { envs: new Map(), mounts: [], devices: [], annotations: new Map(), cdiDevices: [] };

/** The meaning of the file of format 2. */
const MEANING_OF_2: CheckpointDocument = {
  ...MEANING_OF_1,
  ledger: 'stale',
  leases: [
    {
      id: '01kbsw0000000000000000000a',
      uid: 1000,
      key: 'build-17',
      owner: { bind: 'key', namespace: 'ci', name: 'build-17', part: 'test' },
      wants: [
        { resource: 'vendor.com/gpu', count: 2, ids: ['gpu-1'], numa: 'single' },
        { resource: 'vendor.com/nic', count: 1, ids: [], numa: 'prefer' },
      ],
      granted: [
        {
          resource: 'vendor.com/gpu',
          devices: [
            { id: 'gpu-1', numaNodes: [0] },
            { id: 'gpu/0', numaNodes: [0, 1] },
          ],
        },
        { resource: 'vendor.com/nic', devices: [{ id: '__proto__', numaNodes: [] }] },
      ],
      answer: {
        envs: new Map([
          ['GPU_IDS', 'gpu-1,gpu/0'],
          ['__proto__', 'x'],
        ]),
        mounts: [{ containerPath: '/usr/lib/gpu', hostPath: '/opt/gpu/lib', readOnly: true }],
        devices: [{ containerPath: '/dev/gpu1', hostPath: '/dev/gpu1', permissions: 'rw' }],
        annotations: new Map([['cdi.k8s.io/gpu', 'vendor.com/gpu=gpu-1']]),
        cdiDevices: ['vendor.com/gpu=gpu-1'],
      },
      createdAt: Date.parse('2030-01-01T00:00:04.500Z'),
      ttlMs: 3_600_000,
      renewed: { bootMs: 5000, wallMs: 1_893_456_004_500 },
      bootId: '6f1b0c9e-52c1-4a55-9d6f-0c1f3f1f8a11',
      extra: new Map([['fromTheFuture', true]]),
    },
    {
      id: '01kbsw0000000000000000000b',
      uid: 0,
      key: undefined,
      owner: {
        bind: 'process',
        namespace: 'process',
        name: '4712',
        part: '',
        process: { pid: 4712, startTime: '777' },
      },
      wants: [{ resource: 'vendor.com/nic', count: 1, ids: [], numa: 'prefer' }],
      granted: [{ resource: 'vendor.com/nic', devices: [{ id: 'nic-0', numaNodes: [] }] }],
      answer: NO_ANSWER,
      createdAt: Date.parse('2030-01-01T00:00:05.000Z'),
      ttlMs: undefined,
      bootId: '6f1b0c9e-52c1-4a55-9d6f-0c1f3f1f8a11',
    },
    {
      id: '01kbsw0000000000000000000c',
      uid: 0,
      key: undefined,
      owner: {
        bind: 'cgroup',
        namespace: 'systemd',
        name: 'train.service',
        part: '',
        cgroup: { path: '/system.slice/train.service', inode: '5150' },
      },
      wants: [{ resource: 'vendor.com/nic', count: 1, ids: ['nic-1'], numa: 'prefer' }],
      granted: [{ resource: 'vendor.com/nic', devices: [{ id: 'nic-1', numaNodes: [] }] }],
      answer: NO_ANSWER,
      createdAt: Date.parse('2030-01-01T00:00:05.100Z'),
      ttlMs: undefined,
      bootId: '6f1b0c9e-52c1-4a55-9d6f-0c1f3f1f8a11',
    },
  ],
};

/** The meanings of the files of every released format to this version. */
const MEANINGS = [MEANING_OF_1, MEANING_OF_2];

describe('checkpoints of every released format', () => {
  it('are kept, one for each format', () => {
    const files = readdirSync(GOLDEN).filter((name) => name.endsWith('.json'));
    assert.deepEqual(files.sort(), Array.from({ length: FORMAT }, (_, index) => `format-${index + 1}.json`).sort());
  });

  for (let format = 1; format <= FORMAT; format += 1) {
    it(`format ${format} is understood as it was meant`, () => {
      const decoded = decodeCheckpoint(readFileSync(path.join(GOLDEN, `format-${format}.json`)));
      assert.deepEqual(decoded, { kind: 'document', document: MEANINGS[format - 1] });
    });
  }

  it('name their boot also where they were cut off, in any order in which their first members were written', () => {
    for (let format = 1; format <= FORMAT; format += 1) {
      const cut = decodeCheckpoint(readFileSync(path.join(GOLDEN, `format-${format}.json`)).subarray(0, 300));
      assert.equal(cut.kind === 'damaged' && cut.bootId, MEANINGS[format - 1]?.bootId);
    }
  });

  it('the present one is written byte by byte as the file says, which a person can read', () => {
    const golden = readFileSync(path.join(GOLDEN, `format-${FORMAT}.json`));
    assert.equal(new CheckpointCodec().encode(MEANING_OF_2).toString(), golden.toString());
    assert.equal(golden.toString().split('\n')[0], `{"format":${FORMAT},`);
    // As docs/checkpoint-format.md says: head -c -67 FILE | sha256sum
    const checksum = createHash('sha256')
      .update(golden.subarray(0, golden.length - 67))
      .digest('hex');
    assert.equal((JSON.parse(golden.toString()) as { sha256: string }).sha256, checksum);
  });

  it('a broker that knows format 1 alone leaves a file of format 2 as it is', () => {
    const golden = readFileSync(path.join(GOLDEN, 'format-2.json'));
    assert.deepEqual(decodeCheckpoint(golden, new Map(), 1), { kind: 'newer', format: 2 });
  });

  it('have all their members explained in docs/checkpoint-format.md', () => {
    const text = readFileSync(path.join(ROOT, 'docs/checkpoint-format.md'), 'utf8');
    const listMembers = ['sha256', 'bytes', 'devices', 'inline'];
    for (const name of [
      ...DOCUMENT_MEMBERS,
      ...ENTRY_MEMBERS,
      ...TOMBSTONE_MEMBERS,
      ...LEASE_MEMBERS,
      ...listMembers,
    ]) {
      assert.match(text, new RegExp(`\\| \`${name}\` +\\|`));
    }
  });
});
