import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { choose } from '../../../src/allocation/choose.js';

/** Devices that count how often their nodes are read. */
function countedDevices(count: number, nodesOf: (nth: number) => number[]) {
  const reads = { count: 0 };
  const devices = Array.from({ length: count }, (_, nth) => {
    const nodes = nodesOf(nth);
    return {
      id: `d${String(nth)}`,
      get numaNodes() {
        reads.count += 1;
        return nodes;
      },
    };
  });
  return { devices, reads };
}

describe('choosing among many devices', () => {
  it('reads the nodes of each a few times, however many nodes they are on', () => {
    const { devices, reads } = countedDevices(4000, (nth) => [nth % 1000]);
    const chosen = choose({ resource: 'v/gpu', count: 1024, ids: [], numa: 'prefer' }, devices);
    assert.equal(new Set(chosen?.map(({ id }) => id)).size, 1024);
    assert.ok(reads.count <= 40 * devices.length, `${String(reads.count)} reads`);
  });

  it('takes a node that no machine has for none', () => {
    const { devices } = countedDevices(3, (nth) => ([-1, 1_000_000, 3][nth] === 3 ? [3] : [5000 + nth]));
    const chosen = choose({ resource: 'v/gpu', count: 2, ids: [], numa: 'single' }, devices);
    assert.deepEqual(
      chosen?.map(({ id }) => id),
      ['d0', 'd1'],
    );
  });

  it('weighs the first of a very long list', () => {
    const { devices } = countedDevices(70_000, (nth) => [nth < 69_000 ? 0 : 1]);
    const chosen = choose({ resource: 'v/gpu', count: 2, ids: [], numa: 'single' }, devices);
    assert.equal(chosen?.[0]?.id, 'd0');
  });
});

/** A device as a table writes it: its id, and behind `@` the nodes it is near to. */
function deviceOf(text: string): { id: string; numaNodes: number[] } {
  const [id = '', nodes = ''] = text.split('@');
  return { id, numaNodes: nodes === '' ? [] : nodes.split(',').map(Number) };
}

describe('the chosen devices', () => {
  interface Row {
    readonly it: string;
    readonly free: string;
    readonly count: number;
    readonly ids?: readonly string[];
    readonly prefer: string | undefined;
    /** With `numa: single`, where that is not the same. */
    readonly single?: string | undefined;
  }
  const rows: readonly Row[] = [
    { it: 'are the first of the list where no device has a node', free: 'c a b', count: 2, prefer: 'c a' },
    { it: 'are none where too few are free', free: 'a@0 b@0', count: 3, prefer: undefined },
    {
      it: 'are on one node where one has enough, even if others stand before it',
      ...{ free: 'a@0 b@1 c@1', count: 2, prefer: 'b c' },
    },
    {
      it: 'are on the node that has the fewest to spare',
      ...{ free: 'a@0 b@0 c@0 d@1 e@1', count: 2, prefer: 'd e' },
    },
    {
      it: 'are on the node that has the fewest to spare, also where one is enough',
      ...{ free: 'a@0 b@0 c@1 d@2 e@2', count: 1, prefer: 'c' },
    },
    {
      it: 'are on the first node of the list where several fit as well',
      ...{ free: 'a@1 b@0 c@0 d@1', count: 2, prefer: 'a d' },
    },
    { it: 'count on each node that they are near to', free: 'a@0 b@0,1 c@1 d@1', count: 2, prefer: 'a b' },
    {
      it: 'have a node of their own where their plugin names none for them',
      ...{ free: 'a b@0 c@0', count: 2, prefer: 'b c' },
    },
    {
      it: 'are on as few nodes as possible where no node has enough, and the last ones where few are to spare',
      ...{ free: 'a@0 b@0 c@1 d@1 e@2', count: 3, prefer: 'a b e', single: undefined },
    },
    {
      it: 'are on the first nodes of the list where several help as much',
      ...{ free: 'a@2 b@1 c@0', count: 2, prefer: 'a b', single: undefined },
    },
    {
      it: 'are on the node of a named one, also where another would fit better',
      ...{ free: 'a@0 b@0 c@1 d@1 e@1', count: 2, ids: ['d'], prefer: 'd c' },
    },
    {
      it: 'are on that node of a named one that has the fewest to spare',
      ...{ free: 'a@0,1 b@0 c@0 d@1', count: 2, ids: ['a'], prefer: 'a d' },
    },
    {
      it: 'are the named ones, on whatever nodes those are',
      ...{ free: 'a@0 b@0 c@1', count: 2, ids: ['c', 'a'], prefer: 'a c', single: undefined },
    },
    {
      it: 'are taken from the nodes of the named ones before all others',
      ...{ free: 'a@2 b@2 c@0 d@1 e@1', count: 3, ids: ['c', 'd'], prefer: 'c d e', single: undefined },
    },
    {
      it: 'are on one more node where nothing else is free on that of the named one',
      ...{ free: 'a@0 b@0 c@1 d@2', count: 2, ids: ['d'], prefer: 'd c', single: undefined },
    },
  ];

  for (const row of rows)
    it(row.it, () => {
      const { free, count, ids = [], prefer } = row;
      const chosen = (numa: 'prefer' | 'single'): string | undefined =>
        choose({ resource: 'v/gpu', count, ids, numa }, free.split(' ').map(deviceOf))
          ?.map(({ id }) => id)
          .join(' ');
      const single = 'single' in row ? row.single : prefer;
      assert.deepEqual({ prefer: chosen('prefer'), single: chosen('single') }, { prefer, single });
    });
});
