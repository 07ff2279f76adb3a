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
        uid: 1000,
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
        uid: 1000,
        namespace: 'docker',
        name: 'b.service',
        containers: [{ name: 'b.service', devices: [{ resource: 'v/gpu', id: 'g3', numaNodes: [] }] }],
      },
    ]);
  });

  it('are without resources that are left out, and so are owners and parts that have no others', () => {
    const owner = { namespace: 'user', name: 'a' };
    const pods = podsOf(
      [
        lease({ owner: { namespace: 'user', name: 'b' }, devices: { 'v/gpu': ['g0'] } }),
        lease({ owner, devices: { 'v/gpu': ['g1'], 'v/tty': ['t'] } }),
        lease({ owner: { ...owner, part: 'z' }, devices: { 'v/gpu': ['g2'] } }),
      ],
      new Set(['v/gpu']),
    );
    const containers = [{ name: 'a', devices: [{ resource: 'v/tty', id: 't', numaNodes: [] }] }];
    assert.deepEqual(pods, [{ uid: 1000, ...owner, containers }]);
  });

  it('are of their own user: one with the name of an older owner of another has its uid behind it', () => {
    const of = (uid: number, id: string, name = 'job') => ({
      ...lease({ owner: { namespace: 'docker', name }, devices: { 'v/gpu': [id] } }),
      uid,
    });
    const pods = podsOf([
      of(4002, 'g0'),
      of(4001, 'g1', 'job.uid-0'),
      of(4001, 'g2'),
      of(0, 'g3'),
      of(4002, 'g4'),
      of(4001, 'g5'),
    ]);
    assert.deepEqual(
      pods.map(({ name, containers }) => [name, ...containers.flatMap((one) => one.devices.map(({ id }) => id))]),
      [
        ['job', 'g0', 'g4'],
        ['job.uid-0', 'g1'],
        ['job.uid-4001', 'g2', 'g5'],
        ['job.uid-0.uid-0', 'g3'],
      ],
    );
  });
});
