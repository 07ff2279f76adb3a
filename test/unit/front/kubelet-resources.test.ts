import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KubeletResources } from '../../../src/front/kubelet-resources.js';
import { knownInstance } from '../../support/known-instance.js';

describe('resources for the pods of the kubelet', () => {
  const list = { instanceId: 'i', resource: '', raw: Buffer.alloc(0), sha256: '', devices: 2, healthy: 1 };
  const served = new Map(
    ['fronted/pods', 'fronted/leases', 'kept/pods'].map((name) => [name, { instance: knownInstance(), list }]),
  );
  const theirs = new KubeletResources({
    resources: { of: (name) => served.get(name), names: () => new Set(served.keys()) },
    plugins: { callsOf: () => undefined, isAlive: () => Promise.resolve(true) },
    live: { current: { isFronted: (name) => name.startsWith('fronted/') } },
    consumers: { isForPods: (name) => name.endsWith('/pods') },
  });

  it('are those that the settings offer to it while their devices are not for leases', () => {
    assert.deepEqual(theirs.names(), ['fronted/pods']);
    assert.deepEqual(
      [...served.keys()].filter((name) => theirs.now(name) !== undefined),
      ['fronted/pods'],
    );
  });
});
