import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DeviceOwner } from '../../../src/front/pods.js';
import { podOwners } from '../../../src/front/pods.js';

const owner = (pod: string, container: string, since: number): DeviceOwner => ({
  namespace: 'default',
  pod,
  container,
  since,
  absent: 0,
});

describe('pods that have devices', () => {
  const all = new Map([
    ['v/gpu', new Map([...['g0', 'g1'].map((id) => [id, owner('p', 'c', 5)] as const), ['g2', owner('p', 'd', 1)]])],
    ['v/nic', new Map([['n0', owner('p', 'c', 3)]])],
  ]);

  it('are one for each container, with all that it has, known longest first', () => {
    assert.deepEqual(
      podOwners(all, '').map(({ container, since, devices }) => [container, since, Object.fromEntries(devices)]),
      [
        ['d', 1, { 'v/gpu': ['g2'] }],
        ['c', 3, { 'v/gpu': ['g0', 'g1'], 'v/nic': ['n0'] }],
      ],
    );
  });

  it('are only those that have some of the resource that is asked for', () => {
    assert.deepEqual(
      podOwners(all, 'v/nic').map(({ container }) => container),
      ['c'],
    );
    assert.deepEqual(podOwners(all, 'v/none'), []);
  });
});
