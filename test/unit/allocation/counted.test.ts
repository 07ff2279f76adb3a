import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { allocationWorld, FakeMachine, request } from '../../support/allocation-world.js';

const PLUGIN = 4001;
const CALLER = 4002;
const GPU = 'vendor.com/gpu';

describe('a request', () => {
  const rows: readonly (readonly [
    offeredBy: number | undefined,
    leaves: boolean,
    uid: number,
    share: number | undefined,
  ])[] = [
    [PLUGIN, false, CALLER, PLUGIN],
    [undefined, false, CALLER, undefined],
    [PLUGIN, true, CALLER, CALLER],
    [undefined, true, CALLER, CALLER],
    [PLUGIN, true, 0, undefined],
  ];
  for (const [offeredBy, leaves, uid, share] of rows) {
    const whose = offeredBy === undefined ? 'root' : 'an ordinary user';
    const what = leaves ? ', which leaves while it is asked,' : '';
    it(`of uid ${String(uid)} to a plugin of ${whose}${what} counts in the share of ${String(share)}`, async () => {
      const machine = new FakeMachine();
      const counted: (number | undefined)[] = [];
      const { allocations } = await allocationWorld(machine, {
        metrics: {
          allocation: (resource, result, stranger) => {
            assert.deepEqual([resource, result], [GPU, 'PLUGIN_FAILED']);
            counted.push(stranger);
          },
          allocateSeconds: () => undefined,
        },
      });
      const gpu = machine.offer(GPU, 'a');
      if (offeredBy !== undefined) gpu.stranger = offeredBy;
      gpu.allocate = () => {
        if (leaves) machine.resources.delete(GPU);
        return Promise.reject(new Error('goodbye'));
      };
      await allocations.allocate(request(GPU, { key: 'k' }), { uid, process: undefined }, new AbortController().signal);
      assert.deepEqual(counted, [share]);
    });
  }
});
