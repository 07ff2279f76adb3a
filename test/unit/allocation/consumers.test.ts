import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Consumers } from '../../../src/allocation/consumers.js';
import type { Consumer } from '../../../src/model/settings.js';

describe('for whom the devices of a resource are', () => {
  const state = { wanted: 'local' as Consumer, leases: false, pods: 0 };
  const consumers = new Consumers({
    wanted: () => state.wanted,
    hasLeases: () => state.leases,
    heldByPods: () => state.pods,
  });

  it('is what the configuration says while nobody has any', () => {
    for (const wanted of ['local', 'kubelet'] as const) {
      state.wanted = wanted;
      assert.deepEqual([consumers.of('r'), consumers.why('r')], [wanted, '']);
    }
  });

  it('stays with owners of leases until the last lease has ended', () => {
    Object.assign(state, { wanted: 'kubelet', leases: true });
    assert.equal(consumers.of('r'), 'local');
    assert.match(consumers.why('r'), /^it stays with owners of leases until/);
    state.leases = false;
    assert.deepEqual([consumers.of('r'), consumers.why('r')], ['kubelet', '']);
  });

  it('stays with the kubelet while pods have some', () => {
    Object.assign(state, { wanted: 'local', pods: 2 });
    assert.equal(consumers.of('r'), 'kubelet');
    assert.match(consumers.why('r'), /^it stays with the kubelet until the 2 devices that pods have are free/);
    state.pods = 0;
    assert.equal(consumers.of('r'), 'local');
  });

  it('is told of each resource that has moved when it is looked at, and looks at no other', () => {
    const asked: string[] = [];
    const told: string[] = [];
    const wanted = new Map<string, Consumer>();
    const looked = new Consumers({
      wanted: (resource) => {
        asked.push(resource);
        return wanted.get(resource) ?? 'local';
      },
      hasLeases: () => false,
      heldByPods: () => 0,
    });
    looked.moved.follow((resource) => told.push(resource));
    looked.look(['a', 'b']);
    wanted.set('a', 'kubelet');
    wanted.set('b', 'kubelet');
    [told.length, asked.length] = [0, 0];
    looked.look(['b']);
    looked.look(['b']);
    assert.deepEqual([told, asked], [['b'], ['b', 'b']]);
  });
});
