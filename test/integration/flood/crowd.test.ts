import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventually } from '../../support/eventually.js';
import { FloodBed } from './flood-bed.js';

const CROWD = 100;

describe('a hundred honest plugins', () => {
  it('that register again in the same second after a restart are all in, none refused or slowed', async () => {
    const bed = await FloodBed.start();
    const { broker } = bed;
    const plugins = await Promise.all(Array.from({ length: CROWD }, (_, nth) => bed.plugin(`honest-${nth}`)));
    const registerAll = (): Promise<unknown> =>
      Promise.all(plugins.map((plugin) => plugin.register(broker.kubeletSocket)));
    const allIn = (): Promise<unknown> =>
      eventually('all of them serve', async () => {
        const usable = [...(await broker.counts()).values()].filter(({ allocatable }) => allocatable === 2);
        return usable.length === CROWD;
      });
    await registerAll();
    await allIn();
    for (const { resource } of plugins.slice(-3)) await broker.onDisk(resource);
    await broker.end('SIGKILL');
    await broker.start({ settled: false });
    await registerAll();
    await allIn();

    const text = await bed.metrics();
    assert.doesNotMatch(text, /^plugin_broker_registrations_total\{[^}]*result="refused"/m);
    assert.doesNotMatch(text, /^plugin_broker_flood_exceeded_total\{/m);
    assert.ok(
      (await bed.metric('plugin_broker_registrations_total{type="DevicePlugin",result="accepted",reason=""}')) >= CROWD,
    );
    const rows = await broker.admin.limits('');
    const touched = rows.filter(({ exceeded, strikes, slowing }) => exceeded > 0 || strikes > 0 || slowing !== '');
    assert.deepEqual(touched, []);
    assert.ok((await broker.plugins()).every(({ state }) => state === 'ready'));
  });
});
