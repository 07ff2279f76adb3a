import assert from 'node:assert/strict';
import type { Broker } from './broker.js';
import { Child } from '../../support/child.js';
import type { Program } from '../../support/child.js';

/** One plugin and how it comes in. */
export interface Arrival {
  readonly door: 'register' | 'watcher';
  readonly resource: string;
  readonly endpoint: string;
  /** Further flags of the program. */
  readonly flags?: readonly string[];
}

const DEVICES = 3;

/**
 * The life of a plugin as its operator sees it: it comes in, its devices are there, one falls ill and recovers, the plugin
 * ends and its devices can no longer be given away.
 */
export async function liveThrough(broker: Broker, program: Program, arrival: Arrival): Promise<void> {
  const { door, resource, endpoint, flags = [] } = arrival;
  const dir = door === 'register' ? broker.devicePlugins : broker.registry;
  const plugin = new Child(program, [
    ...['--door', door, '--dir', dir, '--endpoint', endpoint, '--resource', resource, '--devices', String(DEVICES)],
    ...flags,
  ]);
  try {
    await plugin.says('registered');
    const listed = await broker.resource(resource, 'all devices healthy', ({ allocatable }) => allocatable === DEVICES);
    assert.equal(listed.capacity, DEVICES);
    assert.deepEqual(
      listed.devices.map(({ numaNodes }) => numaNodes),
      [[0], [1], [0]],
    );

    plugin.signal('SIGUSR1');
    const ill = await broker.resource(resource, 'one device ill', ({ allocatable }) => allocatable === DEVICES - 1);
    assert.deepEqual(
      ill.devices.map(({ health }) => health),
      ['Healthy', 'Healthy', 'Unhealthy'],
    );
    assert.equal(ill.capacity, DEVICES);

    plugin.signal('SIGUSR1');
    await broker.resource(resource, 'the device recovered', ({ allocatable }) => allocatable === DEVICES);
    assert.equal(plugin.lines.filter((line) => line === 'watched').length, 1, `one stream only\n${plugin.story}`);
  } finally {
    await plugin.stop();
  }
  await broker.resource(
    resource,
    'held after its plugin ended',
    ({ state, allocatable }) => state === 'held' && allocatable === 0,
  );
}
