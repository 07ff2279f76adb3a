import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkNodeInfo, nodeInfoFrom, sameNodeInfo, type NodeGetInfoAnswer } from '../../../src/csi/node-info.js';
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

  it('is refused when the node id has more than 512 bytes in the JSON of the annotation, which no quotes make', () => {
    const verdict = (nodeId: string): string => codeOf(() => checkNodeInfo(driver, answer({ nodeId })));
    assert.equal(verdict('\u0001'.repeat(85)), 'taken');
    assert.equal(verdict('\u0001'.repeat(86)), 'NODE_ID_TOO_LONG');
    assert.equal(verdict('"'.repeat(256)), 'taken');
    assert.equal(verdict('ü'.repeat(128)), 'taken');
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
    assert.ok(back !== undefined && sameNodeInfo(back, info));
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
