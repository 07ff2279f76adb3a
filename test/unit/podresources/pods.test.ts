import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { podsOf } from '../../../src/podresources/pods.js';
import { lease } from '../../support/leases.js';

describe('leases as pods', () => {
  it('are one pod for each owner and one container for each part, devices by resource and id', () => {
    const pods = podsOf([
      lease({ owner: { namespace: 'systemd', name: 'b.service' }, devices: { 'v/gpu': ['g2@1', 'g1@0,1'] } }),
      lease({ owner: { namespace: 'systemd', name: 'b.service', part: 'z' }, devices: { 'v/tty': ['t'] } }),
      lease({ owner: { namespace: 'docker', name: 'b.service' }, devices: { 'v/gpu': ['g3'] } }),
      lease({ owner: { namespace: 'systemd', name: 'b.service' }, devices: { 'v/acc': ['a'] } }),
    ]);
    assert.deepEqual(pods, [
      {
        namespace: 'systemd',
        name: 'b.service',
        containers: [
          {
            name: 'b.service',
            devices: [
              { resource: 'v/acc', id: 'a', numaNodes: [] },
              { resource: 'v/gpu', id: 'g1', numaNodes: [0, 1] },
              { resource: 'v/gpu', id: 'g2', numaNodes: [1] },
            ],
          },
          { name: 'z', devices: [{ resource: 'v/tty', id: 't', numaNodes: [] }] },
        ],
      },
      {
        namespace: 'docker',
        name: 'b.service',
        containers: [{ name: 'b.service', devices: [{ resource: 'v/gpu', id: 'g3', numaNodes: [] }] }],
      },
    ]);
  });
});
