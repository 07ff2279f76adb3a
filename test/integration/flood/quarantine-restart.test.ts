import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { refusalOf } from '../../support/alloc-client.js';
import { eventually } from '../../support/eventually.js';
import { healthy, type FakePlugin } from '../../support/fake-plugin.js';
import { FloodBed } from './flood-bed.js';

/** Registers until it is in quarantine; its own process does, so its session is closed. */
async function misbehave(bed: FloodBed, plugin: FakePlugin): Promise<void> {
  const caller = bed.caller(plugin);
  while ((await caller.call())?.details.startsWith('QUARANTINED') !== true);
}

const untilOf = async (bed: FloodBed, resource: string): Promise<number> =>
  Date.parse((await bed.limit('register', resource))?.quarantinedUntil ?? '');

const policy = (quarantine: string): object => ({
  flood: {
    register: { burst: 1, interval: '10s', onExceed: 'reject' },
    penalty: { strikes: 2, window: '30s', quarantine },
  },
});

describe('a quarantine and a kill -9 of the broker', { concurrency: 2 }, () => {
  it('goes on for what is left of it: no session, the resource held, and called back when it is over', async () => {
    const bed = await FloodBed.start(policy('5s'));
    const resource = 'example.com/gpu';
    const plugin = await bed.plugin('gpu', { devices: healthy('a', 'b', 'c') });
    await plugin.register(bed.broker.kubeletSocket);
    await eventually('it serves', async () => (await bed.broker.allocatable(resource)) === 3);
    await bed.broker.onDisk(resource);
    await misbehave(bed, plugin);
    await eventually('its session is closed', () => plugin.streams === 0);
    const until = await untilOf(bed, resource);
    await eventually('the quarantine is on disk', () => /"quarantineLeftMs": ?[1-9]/.test(bed.checkpoint()));

    await bed.broker.end('SIGKILL');
    await bed.broker.start();
    const held = { capacity: 3, allocatable: 0, state: 'quarantined' };
    assert.deepEqual((await bed.broker.counts()).get(resource), held);
    const [view] = await bed.broker.plugins();
    assert.deepEqual([view?.state, view?.reason], ['quarantined', 'quarantine']);
    const untilNow = await untilOf(bed, resource);
    assert.ok(untilNow <= until + 100, `until ${String(until)} before, until ${String(untilNow)} after the restart`);
    assert.ok(untilNow > Date.now());
    await assert.rejects(plugin.register(bed.broker.kubeletSocket), /QUARANTINED/);
    await bed.sees(resource, 'quarantine', /is kept out for another .* s: a restart of the broker is no amnesty/);
    assert.equal(plugin.streams, 0);

    await eventually('it serves again', async () => (await bed.broker.allocatable(resource)) === 3);
    assert.ok(Date.now() >= untilNow - 50, 'not before');
    await bed.sees(resource, 'quarantine', /is over; the broker calls it back/);
    assert.equal(plugin.streams, 1);
  });

  it('leave the leases of its devices as they are, and give out no others', async () => {
    const bed = await FloodBed.start({ ...policy('10m'), cdi: { dir: 'off' } });
    const resource = 'example.com/leased';
    const plugin = await bed.plugin('leased', { devices: healthy('a', 'b', 'c') });
    await plugin.register(bed.broker.kubeletSocket);
    await eventually('it serves', async () => (await bed.broker.allocatable(resource)) === 3);
    const client = bed.allocating();
    const { id } = await client.one(resource, { ids: ['b'], key: 'kept' });
    const leases = async (): Promise<unknown> =>
      (await client.list()).map((lease) => [lease.id, lease.state, lease.granted[0]?.ids]);
    await misbehave(bed, plugin);
    await eventually('its session is closed', () => plugin.streams === 0);
    assert.deepEqual(await leases(), [[id, 'active', ['b']]]);
    assert.equal(await refusalOf(client.one(resource, { key: 'other' })), 'PLUGIN_NOT_READY');
    await eventually('the quarantine is on disk', () => /"quarantineLeftMs": ?[1-9]/.test(bed.checkpoint()));
    await bed.broker.end('SIGKILL');
    await bed.broker.start();
    assert.deepEqual(await leases(), [[id, 'unconfirmed', ['b']]]);
    assert.equal(await refusalOf(client.one(resource, { key: 'other' })), 'PLUGIN_NOT_READY');
    assert.equal((await client.one(resource, { ids: ['b'], key: 'kept' })).id, id, 'its owner has it all the time');
    assert.equal(plugin.streams, 0, 'the plugin is out still');
    await bed.broker.admin.pardon({ name: resource, type: '' });
    await plugin.register(bed.broker.kubeletSocket);
    const late = await client.one(resource, { count: 2, key: 'late', waitMs: 60_000 });
    assert.deepEqual(late.granted[0]?.ids, ['a', 'c']);
    assert.deepEqual(await leases(), [
      [id, 'active', ['b']],
      [late.id, 'active', ['a', 'c']],
    ]);
  });

  it('that ends while the broker is down calls the plugin back, which was never in the checkpoint', async () => {
    const bed = await FloodBed.start(policy('1s'));
    const resource = 'example.com/nic';
    // It calls before it serves, so it is never let in; then it serves, and does not call again.
    const socket = `${bed.broker.devicePlugins}/nic.sock`;
    const late = bed.unserved(socket, resource);
    await misbehave(bed, late);
    await eventually('the quarantine is on disk', () => /"quarantineLeftMs": ?[1-9]/.test(bed.checkpoint()));
    await bed.broker.end('SIGKILL');
    await pause(1_100); // the quarantine passes
    await late.serve();
    await bed.broker.start();
    await eventually('it serves', async () => (await bed.broker.allocatable(resource)) === 2);
    assert.equal(late.count('GetDevicePluginOptions'), 1);
  });
});
