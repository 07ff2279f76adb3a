import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkNodeInfo, nodeInfoFrom, type NodeGetInfoAnswer } from '../../../src/csi/node-info.js';
import { Refused } from '../../../src/model/reasons.js';

const answer = (given: Partial<NodeGetInfoAnswer> = {}): NodeGetInfoAnswer => ({
  nodeId: 'node-1',
  maxVolumesPerNode: 0n,
  segments: new Map(),
  ...given,
});

function codeOf(work: () => unknown): string {
  try {
    work();
  } catch (thrown) {
    assert.ok(thrown instanceof Refused, String(thrown));
    assert.match(thrown.message, /^CSI driver hostpath\.csi\.k8s\.io: NodeGetInfo answered .*[^.]$/);
    return thrown.refusal.code;
  }
  return 'taken';
}

describe('the answer to NodeGetInfo', () => {
  const driver = 'hostpath.csi.k8s.io';

  it('is taken with its topology sorted by key', () => {
    const segments = new Map([
      ['topology.hostpath.csi/node', 'a'],
      ['example.com/rack', ''],
    ]);
    assert.deepEqual(checkNodeInfo(driver, answer({ segments, maxVolumesPerNode: 7n })), {
      driver,
      nodeId: 'node-1',
      count: 7,
      topology: [
        { key: 'example.com/rack', value: '' },
        { key: 'topology.hostpath.csi/node', value: 'a' },
      ],
    });
  });

  it('is refused when the node id is empty', () => {
    assert.equal(
      codeOf(() => checkNodeInfo(driver, answer({ nodeId: '' }))),
      'NODE_ID_EMPTY',
    );
  });

  it('is refused when the node id has more than 256 bytes, counted in UTF-8', () => {
    assert.equal(
      codeOf(() => checkNodeInfo(driver, answer({ nodeId: 'x'.repeat(256) }))),
      'taken',
    );
    assert.equal(
      codeOf(() => checkNodeInfo(driver, answer({ nodeId: 'x'.repeat(257) }))),
      'NODE_ID_TOO_LONG',
    );
    assert.equal(
      codeOf(() => checkNodeInfo(driver, answer({ nodeId: 'ü'.repeat(129) }))),
      'NODE_ID_TOO_LONG',
    );
  });

  it('is refused when the node id has more than 256 bytes in the JSON of the annotation', () => {
    const verdict = (nodeId: string): string => codeOf(() => checkNodeInfo(driver, answer({ nodeId })));
    assert.equal(verdict('\u0001'.repeat(42)), 'taken');
    assert.equal(verdict('\u0001'.repeat(43)), 'NODE_ID_TOO_LONG');
    assert.equal(verdict('"'.repeat(128)), 'taken');
    assert.equal(verdict('"'.repeat(129)), 'NODE_ID_TOO_LONG');
    assert.equal(verdict('ü'.repeat(128)), 'taken');
  });

  it('is taken with the longest node ids of real drivers', () => {
    const part = 'x'.repeat(63);
    for (const nodeId of [
      'i-0123456789abcdef0',
      `projects/${part.slice(0, 30)}/zones/northamerica-northeast1-a/instances/${part}`,
      '4230f3a8-9d2b-6e5e-3a5b-0c8b3b1e7f10',
      `${part}.${part}.${part}.${part.slice(0, 61)}`, // the name of a node
    ]) {
      assert.equal(checkNodeInfo(driver, answer({ nodeId })).nodeId, nodeId);
    }
  });

  it('leaves room in the annotation of a node for those of all plugins that ordinary users may have', () => {
    const ids = Array.from({ length: 768 }, (_, at) => [String(at).padEnd(63, 'd'), '"'.repeat(128)]);
    assert.ok(JSON.stringify(Object.fromEntries(ids)).length < 262_144);
  });

  const limits: [given: bigint, count: number | undefined][] = [
    [10n, 10],
    [2_147_483_647n, 2_147_483_647],
    [2_147_483_648n, 2_147_483_647],
    [9_223_372_036_854_775_807n, 2_147_483_647],
    [0n, undefined],
    [-1n, undefined],
  ];
  for (const [given, count] of limits) {
    it(`with max_volumes_per_node ${String(given)} sets allocatable.count to ${String(count)}`, () => {
      assert.equal(checkNodeInfo(driver, answer({ maxVolumesPerNode: given })).count, count);
    });
  }

  const bad: [key: string, value: string][] = [
    ['', 'a'],
    ['two/slashes/here', 'a'],
    ['Upper.Example.com/zone', 'a'],
    [`${'a'.repeat(254)}/zone`, 'a'],
    ['zone', 'with space'],
    ['zone', 'x'.repeat(64)],
    ['-zone', 'a'],
    ['a/', 'a'],
  ];
  for (const [key, value] of bad) {
    it(`is refused with the topology ${JSON.stringify(key.slice(0, 20))}=${JSON.stringify(value.slice(0, 20))}`, () => {
      assert.equal(
        codeOf(() => checkNodeInfo(driver, answer({ segments: new Map([[key, value]]) }))),
        'NODE_INFO_INVALID',
      );
    });
  }

  it('is refused with more topology segments than anyone needs', () => {
    const segments = new Map(Array.from({ length: 33 }, (_, index) => [`key-${String(index)}`, 'a']));
    assert.equal(
      codeOf(() => checkNodeInfo(driver, answer({ segments }))),
      'NODE_INFO_INVALID',
    );
  });

  it('is refused with a longer topology than anyone needs', () => {
    const segments = (count: number) =>
      new Map(Array.from({ length: count }, (_, index) => [`key-${String(index).padStart(2, '0')}`, 'a'.repeat(58)]));
    assert.equal(checkNodeInfo(driver, answer({ segments: segments(32) })).topology.length, 32);
    const long = new Map([...segments(31), ['key-31', 'a'.repeat(59)]]);
    assert.equal(
      codeOf(() => checkNodeInfo(driver, answer({ segments: long }))),
      'NODE_INFO_INVALID',
    );
  });

  it('comes back from the facts of the checkpoint as it went in', () => {
    const info = checkNodeInfo(driver, answer({ segments: new Map([['zone', 'a']]), maxVolumesPerNode: 3n }));
    const facts = JSON.parse(JSON.stringify(info)) as Record<string, unknown>;
    const back = nodeInfoFrom(driver, facts);
    assert.deepEqual(back, info);
  });

  it('is not made up from facts that are damaged', () => {
    for (const facts of [
      {},
      { nodeId: 1, topology: [] },
      { nodeId: 'a', topology: [{ key: 'b' }] },
      { nodeId: '', topology: [] },
    ]) {
      assert.equal(nodeInfoFrom(driver, facts), undefined);
    }
  });
});
