import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Consumers } from '../../../src/allocation/consumers.js';
import type { Consumer } from '../../../src/model/settings.js';
import { lease } from '../../support/leases.js';

describe('the consumer of a resource', () => {
  const state = {
    wanted: 'local' as Consumer,
    leases: false,
    pods: 0,
    unsure: undefined as string | undefined,
    stranger: undefined as number | undefined,
  };
  const consumers = new Consumers({
    rules: { consumerOf: () => state.wanted },
    offers: { strangerOf: () => state.stranger },
    ledger: { hasSome: () => state.leases },
    pods: { heldOf: () => state.pods, unsure: () => state.unsure },
    resources: { names: () => [] },
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

  it('is not for leases, and no further pod is offered it, while pods may have some that nobody has named', () => {
    Object.assign(state, { wanted: 'local', pods: 0, unsure: 'that has said so' });
    assert.deepEqual([consumers.of('r'), consumers.isForPods('r')], ['kubelet', false]);
    assert.equal(consumers.unsure('r'), 'that has said so');
    assert.equal(consumers.why('r'), 'it stays with the kubelet until that has said so, and is for leases then');
    state.leases = true;
    assert.deepEqual([consumers.of('r'), consumers.why('r')], ['local', ''], 'it was theirs already');
    Object.assign(state, { leases: false, pods: 1 });
    assert.deepEqual([consumers.isForPods('r'), consumers.unsure('r')], [true, undefined]);
    Object.assign(state, { wanted: 'kubelet', pods: 0 });
    assert.deepEqual([consumers.isForPods('r'), consumers.unsure('r'), consumers.why('r')], [true, undefined, '']);
    Object.assign(state, { wanted: 'local', unsure: undefined });
    assert.equal(consumers.of('r'), 'local');
  });

  it('is nobody where it is for pods and its plugin runs as a user whom no rule names', () => {
    Object.assign(state, { wanted: 'kubelet', stranger: 4001 });
    assert.deepEqual([consumers.of('r'), consumers.isForPods('r')], ['kubelet', false]);
    assert.match(consumers.why('r'), /^it stays with nobody until a rule names uid 4001/);
    state.wanted = 'local';
    assert.deepEqual([consumers.of('r'), consumers.why('r')], ['local', '']);
    Object.assign(state, { wanted: 'kubelet', stranger: undefined });
    assert.deepEqual([consumers.isForPods('r'), consumers.why('r')], [true, '']);
  });

  it('is told of each resource that has moved when it is looked at, and looks at no other', () => {
    const asked: string[] = [];
    const told: string[] = [];
    const wanted = new Map<string, Consumer>();
    const looked = new Consumers({
      rules: {
        consumerOf: (resource) => {
          asked.push(resource);
          return wanted.get(resource) ?? 'local';
        },
      },
      offers: { strangerOf: () => undefined },
      ledger: { hasSome: () => false },
      pods: { heldOf: () => 0, unsure: () => undefined },
      resources: { names: () => wanted.keys() },
    });
    looked.listeners.follow({ consumerMoved: (resource) => void told.push(resource) });
    looked.look(['a', 'b']);
    wanted.set('a', 'kubelet');
    wanted.set('b', 'kubelet');
    [told.length, asked.length] = [0, 0];
    looked.look(['b']);
    looked.look(['b']);
    assert.deepEqual([told, asked], [['b'], ['b', 'b']]);
    looked.leaseChanged(lease({ devices: { a: ['0'] } }));
    assert.deepEqual(told, ['b', 'a']);
    wanted.set('b', 'local');
    looked.reloaded();
    assert.deepEqual(told, ['b', 'a', 'b']);
  });

  it('is remembered of the newest 4,096 resources: names that plugins make up take no memory for ever', () => {
    const told: string[] = [];
    const looked = new Consumers({
      rules: { consumerOf: () => 'local' },
      offers: { strangerOf: () => undefined },
      ledger: { hasSome: () => false },
      pods: { heldOf: () => 0, unsure: () => undefined },
      resources: { names: () => [] },
    });
    looked.listeners.follow({ consumerMoved: (resource) => void told.push(resource) });
    const names = Array.from({ length: 4097 }, (_, nth) => String(nth));
    looked.look(names);
    told.length = 0;
    looked.look(names.slice(1));
    assert.deepEqual(told, []);
    looked.look(['0']);
    assert.deepEqual(told, ['0']);
  });
});
