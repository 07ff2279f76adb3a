import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { NodeInfo } from '../../../src/csi/node-info.js';
import {
  driverEntry,
  mergeNodeIds,
  NODE_ID_ANNOTATION,
  planDrivers,
  planNode,
  topologyConflicts,
  type CsiNodeDriver,
} from '../../../src/platform/kubernetes/node-objects.js';

const info = (given: Partial<NodeInfo> = {}): NodeInfo => ({ driver: 'd', nodeId: 'n', topology: [], ...given });
const wanted = (...infos: NodeInfo[]): Map<string, NodeInfo> => new Map(infos.map((one) => [one.driver, one]));
const none = new Set<string>();
const zone = [{ key: 'zone', value: 'z1' }];

describe('the entry of a driver in CSINode', () => {
  it('has sorted topology keys, and a limit only if the driver has one', () => {
    const topology = [
      { key: 'a', value: '1' },
      { key: 'b', value: '2' },
    ];
    assert.deepEqual(driverEntry(info({ topology, count: 10 })), {
      name: 'd',
      nodeID: 'n',
      topologyKeys: ['a', 'b'],
      allocatable: { count: 10 },
    });
    assert.deepEqual(driverEntry(info()), { name: 'd', nodeID: 'n', topologyKeys: [] });
  });

  const present: [what: string, entry: CsiNodeDriver, given: NodeInfo, isChange: boolean][] = [
    ['the same', { name: 'd', nodeID: 'n', topologyKeys: ['zone'] }, info({ topology: zone }), false],
    ['null topology keys and no topology', { name: 'd', nodeID: 'n', topologyKeys: null }, info(), false],
    ['no topology keys and no topology', { name: 'd', nodeID: 'n' }, info(), false],
    ['no topology keys and a topology', { name: 'd', nodeID: 'n' }, info({ topology: zone }), true],
    ['topology keys and no topology', { name: 'd', nodeID: 'n', topologyKeys: ['zone'] }, info(), true],
    [
      'keys in another order',
      { name: 'd', nodeID: 'n', topologyKeys: ['b', 'a'] },
      info({
        topology: [
          { key: 'a', value: '' },
          { key: 'b', value: '' },
        ],
      }),
      false,
    ],
    ['another node id', { name: 'd', nodeID: 'old', topologyKeys: [] }, info(), true],
    ['the same limit', { name: 'd', nodeID: 'n', allocatable: { count: 3 } }, info({ count: 3 }), false],
    ['another limit', { name: 'd', nodeID: 'n', allocatable: { count: 3 } }, info({ count: 4 }), true],
    ['a limit that is gone', { name: 'd', nodeID: 'n', allocatable: { count: 3 } }, info(), true],
    ['an empty limit and none', { name: 'd', nodeID: 'n', allocatable: {} }, info(), false],
    ['a null limit and none', { name: 'd', nodeID: 'n', allocatable: null }, info(), false],
  ];
  for (const [what, entry, given, isChange] of present) {
    it(`is ${isChange ? 'removed and added again' : 'left alone'} for ${what}`, () => {
      const change = planDrivers([entry, { name: 'other', nodeID: 'o' }], wanted(given), none);
      assert.deepEqual(change, {
        remove: [],
        ...(isChange ? { replace: ['d'], add: [driverEntry(given)] } : { replace: [], add: [] }),
      });
    });
  }

  it('is removed when it is not wanted any more, and others are not', () => {
    const entries = [
      { name: 'd', nodeID: 'n' },
      { name: 'other', nodeID: 'o' },
    ];
    assert.deepEqual(planDrivers(entries, wanted(), new Set(['d', 'missing'])), {
      remove: ['d'],
      replace: [],
      add: [],
    });
  });
});

describe('the node id annotation', () => {
  it('is merged, sorted, and removed with the last driver', () => {
    assert.equal(mergeNodeIds('{"z":"1"}', [info()], none), '{"d":"n","z":"1"}');
    assert.equal(mergeNodeIds('{"d":"n","z":"1"}', [], new Set(['d'])), '{"z":"1"}');
    assert.equal(mergeNodeIds('{"d":"n"}', [], new Set(['d'])), null);
    assert.equal(mergeNodeIds('', [], new Set(['d'])), undefined);
    assert.equal(mergeNodeIds(' {"d" : "n"}', [info()], none), undefined);
  });

  it('never loses the entry of another driver, whatever it is called', () => {
    const ids = fc.dictionary(fc.oneof(fc.string(), fc.constant('__proto__')), fc.string());
    fc.assert(
      fc.property(ids, fc.string(), (others, driver) => {
        const before = new Map(Object.entries(others));
        before.delete(driver);
        const text = mergeNodeIds(JSON.stringify(Object.fromEntries(before)), [info({ driver })], none);
        const after = new Map(Object.entries(JSON.parse(text ?? '{}') as Record<string, string>));
        assert.equal(after.get(driver), 'n');
        after.delete(driver);
        assert.deepEqual(new Map([...after].sort()), new Map([...before].sort()));
      }),
    );
  });
});

describe('the labels of the node', () => {
  it('are added where they are missing, and left alone where they are there', () => {
    const node = { annotations: { [NODE_ID_ANNOTATION]: '{"d":"n"}' }, labels: {} };
    assert.deepEqual(planNode(node, wanted(info({ topology: zone })), none), {
      nodeIds: undefined,
      labels: { zone: 'z1' },
    });
    const labelled = { ...node, labels: { zone: 'z1' } };
    assert.equal(planNode(labelled, wanted(info({ topology: zone })), none), undefined);
  });

  it('contradict a driver that says something else, and the second of two drivers that disagree', () => {
    const other = [{ key: 'zone', value: 'z2' }];
    const disagreeing = wanted(info({ topology: zone }), info({ driver: 'e', topology: other }));
    assert.deepEqual([...topologyConflicts(new Map(), disagreeing).keys()], ['e']);
    assert.deepEqual([...topologyConflicts(new Map([['zone', 'z2']]), disagreeing).keys()], ['d']);
  });

  it('have no room for those of more and more drivers: the first that does not fit is left out, not those that add nothing', () => {
    const driver = (name: string, key: string): NodeInfo => info({ driver: name, topology: [{ key, value: 'abc' }] });
    const drivers = wanted(driver('d', 'there'), driver('e', 'first'), driver('f', 'second'), driver('g', '2nd'));
    const present = new Map([['there', 'abc']]);
    assert.deepEqual(
      [...topologyConflicts(present, drivers, 22)],
      [
        [
          'f',
          'CSI driver f: the labels of the node would have 25 characters with its topology, 22 are allowed; remove labels of drivers that are gone',
        ],
      ],
    );
    assert.deepEqual([...topologyConflicts(present, drivers, 0).keys()], ['e', 'f', 'g']);
    assert.deepEqual([...topologyConflicts(present, drivers).keys()], []);
  });
});
