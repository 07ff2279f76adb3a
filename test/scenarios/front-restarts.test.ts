import assert from 'node:assert/strict';
import { lstatSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { eventually } from '../support/eventually.js';
import { frontWorlds, RESOURCE } from '../support/front-world.js';

describe('the front at restarts of all parts', { timeout: 180_000 }, () => {
  const newWorld = frontWorlds();

  it('a restart of the kubelet: pods are admitted again, and no plugin notices', async () => {
    const world = newWorld();
    const plugin = await world.start();
    await world.pod('p');
    const streams = plugin.of('list-and-watch-opened').length;
    for (let round = 1; round <= 2; round++) {
      await world.kubelet.restart();
      await world.listed(2);
      await world.kubelet.saw('admitted', 'p', 1 + round);
    }
    assert.equal(world.kubelet.of('rejected').length, 0);
    assert.equal(plugin.of('registered').length, 1);
    assert.equal(plugin.of('list-and-watch-opened').length, streams);
    await world.pod('q');
  });

  it('a restart of the kubelet with its pods gone, as when containers were lost: they come up on their own devices', async () => {
    const world = newWorld();
    await world.start();
    await world.pod('p');
    await world.kubelet.restart('--reboot', '--admit-after', '2s');
    const { devices } = await world.kubelet.saw('container-started', 'p', 2);
    assert.deepEqual(devices, world.kubelet.of('container-started', 'p')[0]?.['devices']);
  });

  for (const [how, signal] of [
    ['stop', 'SIGTERM'],
    ['kill -9', 'SIGKILL'],
  ] as const) {
    it(`${how} and start of the broker: the kubelet has all devices again, and goes on having them`, async () => {
      const world = newWorld();
      await world.start();
      await world.broker.onDisk(RESOURCE);
      await world.broker.end(signal);
      await world.kubelet.saw('disconnected', RESOURCE);
      await world.broker.start({ settled: false });
      await world.listed(2);
      const losses = world.kubelet.of('disconnected', RESOURCE).length;
      await world.pod('p');
      // Longer than the kubelet looks into its registry: sockets there must not cut off registered plugins.
      await world.kubelet.saw('node', undefined, 1);
      await new Promise((resolve) => setTimeout(resolve, 1_300));
      assert.equal(world.kubelet.of('disconnected', RESOURCE).length, losses);
      assert.deepEqual(world.kubelet.listed(RESOURCE), { devices: 2, healthy: 2 });
    });
  }

  it('a takeover of the broker: the entry in the registry stays the very same', async () => {
    const world = newWorld();
    await world.start();
    const entry = (): string => {
      const [name = ''] = readdirSync(world.kubelet.registry);
      return String(lstatSync(path.join(world.kubelet.registry, name), { bigint: true }).ino);
    };
    await eventually('the entry is there', () => readdirSync(world.kubelet.registry).length === 1);
    const before = entry();
    const losses = world.kubelet.of('disconnected', RESOURCE).length;
    await world.broker.start({ args: ['--takeover'] });
    await eventually('the kubelet was left and found again', () => {
      return (
        world.kubelet.of('disconnected', RESOURCE).length > losses && world.kubelet.listed(RESOURCE)?.healthy === 2
      );
    });
    assert.equal(entry(), before);
    await world.pod('p');
  });

  it('a plugin that restarts: the kubelet is told nothing, and a pod that comes meanwhile waits for it', async () => {
    const world = newWorld();
    const plugin = await world.start();
    await plugin.stop();
    await eventually('it is held', async () => (await world.broker.plugins())[0]?.state === 'held');
    world.kubelet.create('p', { [RESOURCE]: 1 });
    world.plugin();
    await world.kubelet.saw('container-started', 'p');
    // One for each door, of which the second may come at any time.
    const told = world.kubelet.of('list', RESOURCE).map(({ socket }) => socket);
    assert.deepEqual(told, [...new Set(told)]);
    assert.equal(world.kubelet.of('disconnected', RESOURCE).length, 0);
  });

  it('a plugin that ends during Allocate: it is asked again when it is back', async () => {
    const world = newWorld();
    const plugin = await world.start({ fault: [{ method: 'Allocate', first: 1, act: { kind: 'never' } }] });
    world.kubelet.create('p', { [RESOURCE]: 1 });
    await eventually('Allocate has arrived', () => plugin.of('called').some(({ method }) => method === 'Allocate'));
    await plugin.stop();
    world.plugin();
    await world.kubelet.saw('container-started', 'p');
  });

  it('a plugin that is away longer than front.hold: the pod fails with a sentence that says so, and no later', async () => {
    const world = newWorld({ front: { hold: '100ms' } });
    const plugin = await world.start();
    await plugin.stop();
    await eventually('it is held', async () => (await world.broker.plugins())[0]?.state === 'held');
    world.kubelet.create('p', { [RESOURCE]: 1 });
    const { message, tookMs } = await world.kubelet.saw('rejected', 'p');
    assert.match(
      String(message),
      /code = Unavailable desc = example.com\/sim: its plugin is held \([\w-]+\) and did not come back in time; see plugin-broker explain/,
    );
    assert.ok((tookMs as number) < 1500, `it took ${String(tookMs)} ms`);
  });

  it('a plugin that restarts while its container waits at the gate: the container starts when it is back', async () => {
    const world = newWorld();
    const plugin = await world.start({ preStart: true });
    await world.pod('p');
    await plugin.stop();
    await eventually('it is held', async () => (await world.broker.plugins())[0]?.state === 'held');
    world.kubelet.restartContainer('p');
    world.plugin({ preStart: true });
    await world.kubelet.saw('container-started', 'p', 2);
  });

  it('a broker that starts while a plugin is away: its containers wait at the gate, and it is not asked when it is back', async () => {
    const world = newWorld();
    const plugin = await world.start();
    await world.pod('p');
    assert.deepEqual([...world.gates()], [false]);
    const known = world.kubelet.of('registered', RESOURCE).filter(({ door }) => door === 'register').length;
    await world.broker.onDisk(RESOURCE);
    await world.broker.end('SIGKILL');
    await world.kubelet.saw('disconnected', RESOURCE);
    await plugin.stop();
    await world.broker.start({ settled: false });
    await world.listed(2);
    assert.deepEqual([...world.gates(known)], [true]);
    const other = 'example.com/other';
    world.plugin({ resource: other, preStart: true });
    await world.listed(2, other);
    world.kubelet.restartContainer('p');
    // Its call has come before those for this pod, which are passed on to a plugin and answered.
    await world.pod('q', 1, other);
    assert.equal(world.kubelet.of('container-started', 'p').length, 1);
    const back = world.plugin();
    await world.kubelet.saw('container-started', 'p', 2);
    assert.ok(back.of('called').every(({ method }) => method !== 'PreStartContainer'));
    assert.deepEqual([...world.gates(known)], [true], 'nothing is registered again only to drop the gate');
  });

  it('a broker that starts after a plugin lost a device of a pod: the kubelet names the owner, and the device stays, unhealthy', async () => {
    const world = newWorld();
    const plugin = await world.start();
    await world.pod('p', 2);
    await world.broker.onDisk(RESOURCE);
    await world.broker.end('SIGTERM');
    await plugin.stop();
    world.plugin({ devices: 1 });
    await world.broker.start({ settled: false });
    const told = { devices: 2, healthy: 1 };
    await eventually('one of two is healthy', () => isDeepStrictEqual(world.kubelet.listed(RESOURCE), told));
    assert.equal(await world.broker.allocatable(RESOURCE), 1);
  });

  it('a rolling update of a plugin: the kubelet never has fewer devices', async () => {
    const world = newWorld();
    const old = await world.start({ socketName: 'old.sock', watch: ['never'] });
    const newer = world.plugin({ socketName: 'new.sock', watch: ['never'] });
    await newer.saw('list-sent');
    await old.stop();
    await world.pod('p', 2);
    for (const line of world.kubelet.of('list', RESOURCE)) assert.equal(line['healthy'], 2);
    assert.equal(world.kubelet.of('disconnected', RESOURCE).length, 0);
  });

  it('kubelet directories that are wiped and removed: everything is made again', async () => {
    const world = newWorld();
    await world.start();
    await world.kubelet.end();
    for (const folder of ['device-plugins', 'plugins', 'plugins_registry']) {
      rmSync(path.join(world.kubelet.root, folder), { recursive: true, force: true, maxRetries: 20, retryDelay: 20 });
    }
    mkdirSync(world.kubelet.devicePlugins, { recursive: true });
    await world.kubelet.start();
    await world.listed(2);
    await eventually('the entry is there again', () => readdirSync(world.kubelet.registry).length === 1);
    await world.pod('p');
  });

  it('100 resources: all are listed again after a restart of the kubelet', async () => {
    const world = newWorld();
    await world.kubelet.start();
    await world.broker.start();
    const names = Array.from({ length: 100 }, (_, index) => `example.com/r${String(index)}`);
    const plugins = names.map((resource) => world.plugin({ resource }));
    for (const resource of names) await world.kubelet.saw('list', resource, 1, 60_000);
    const noticed = (): number[][] =>
      ['registered', 'list-and-watch-opened', 'stream-ended', 'cue'].map((event) =>
        plugins.map((plugin) => plugin.of(event).length),
      );
    const noticedBefore = noticed();
    assert.deepEqual(
      noticedBefore[0],
      names.map(() => 1),
    );
    const before = world.kubelet.lines.length;
    await world.kubelet.restart();
    await eventually(
      'all are listed',
      () => {
        const listed = new Set(
          world.kubelet.lines
            .slice(before)
            .filter(({ event }) => event === 'list')
            .map((line) => line['resource']),
        );
        return listed.size === 100;
      },
      { withinMs: 60_000 },
    );
    // No dip but the kubelet's own: each list of its new life has all devices, and nothing it had was taken away again.
    await new Promise((resolve) => setTimeout(resolve, 1_300));
    const since = world.kubelet.lines.slice(world.kubelet.lines.findLastIndex(({ event }) => event === 'listening'));
    assert.deepEqual(
      since.filter(({ event }) => event === 'disconnected'),
      [],
    );
    assert.ok(since.filter(({ event }) => event === 'list').every((line) => line['healthy'] === 2));
    assert.deepEqual(noticed(), noticedBefore, 'no plugin noticed');
  });

  it('a kubelet that comes long after the broker: it has the devices at once', async () => {
    const world = newWorld();
    await world.broker.start();
    const plugin = world.plugin();
    await plugin.saw('list-sent');
    await world.kubelet.start();
    await world.listed(2);
    await world.pod('p');
  });
});
