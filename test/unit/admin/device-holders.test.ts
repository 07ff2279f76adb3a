import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { resourceUse } from '../../../src/admin/device-holders.js';
import { lease } from '../../support/leases.js';

describe('the holders of devices', () => {
  it('are leases and pods, each device counted once, as they are when they are asked for', () => {
    const leases = new Map([
      ['g0', { lease: lease({ id: 'a' }) }],
      ['g1', { lease: lease({ id: 'a' }) }],
    ]);
    const pod = { namespace: 'ns', pod: 'trainer', container: 'main' };
    const pods = new Map([
      ['g1', pod],
      ['g2', pod],
    ]);
    const use = resourceUse({
      leases: { allocatedOf: () => leases },
      consumers: { of: () => 'local', why: () => '' },
      kubelet: { front: { view: () => undefined }, owners: { of: () => pods } },
    });
    const taken = use.takenOf('v/gpu');
    const ofLease = { lease: 'a', owner: 'key/job', kind: 'key', uid: 1000 };
    const ofPod = { lease: '', owner: 'ns/trainer/main', kind: 'pod', uid: undefined };
    assert.deepEqual([taken.size, taken.get('g1'), taken.get('g2'), taken.get('g3')], [3, ofLease, ofPod, undefined]);
    assert.deepEqual(
      new Map(taken),
      new Map<string, object>([...['g0', 'g1'].map((id) => [id, ofLease] as const), ['g2', ofPod]]),
    );
    leases.delete('g0');
    assert.deepEqual([taken.size, taken.get('g0')], [2, undefined]);
  });
});
