import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BrokerWatch } from '../../../src/library/broker-watch.js';
import type { PluginPicture } from '../../../src/model/fault-port.js';

const picture = (allocatable: number): readonly PluginPicture[] => [
  {
    type: 'DevicePlugin',
    name: 'v/gpu',
    door: 'register',
    state: 'ready',
    reason: 'registered',
    incarnation: '1:2:3',
    socket: '/gpu.sock',
    pid: 1,
    capacity: 2,
    allocatable,
    isListed: true,
    isDurable: true,
  },
];

describe('a recording', () => {
  const watch = new BrokerWatch();
  const NOW = 1000;
  watch.take({ kind: 'phase', at: 0, phase: 'ready' });

  it('begins with what was so when it began, also where that is told later', () => {
    watch.take({ kind: 'picture', at: 1, plugins: picture(0) });
    const recording = watch.record('v/gpu', NOW);
    assert.equal(recording.lowest, 0, 'as far as it is known');
    watch.take({ kind: 'picture', at: NOW - 1, plugins: picture(2) });
    assert.deepEqual(
      [recording.lowest, recording.samples],
      [2, [{ at: NOW - 1, capacity: 2, allocatable: 2, state: 'ready' }]],
    );
  });

  it('keeps the lowest of what came after', () => {
    const recording = watch.record('v/gpu', NOW);
    watch.take({ kind: 'picture', at: NOW + 1, plugins: picture(1) });
    watch.take({ kind: 'picture', at: NOW + 2, plugins: picture(2) });
    assert.equal(recording.lowest, 1);
    assert.deepEqual(
      recording.samples.map(({ allocatable }) => allocatable),
      [2, 1, 2],
    );
  });
});
