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
