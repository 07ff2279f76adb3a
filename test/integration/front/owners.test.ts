import assert from 'node:assert/strict';
import { existsSync, renameSync } from 'node:fs';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { describe, it } from 'node:test';
import { eventually } from '../../support/eventually.js';
import { frontWorlds, RESOURCE } from '../../support/front-world.js';
import { AllocClient, refusalOf } from '../../support/alloc-client.js';
import { PodResourcesCaller } from '../../support/pod-resources-caller.js';
import { AllocateCaller, frontSocket } from '../../support/front-caller.js';

describe('owners of devices in front of a kubelet', { timeout: 90_000 }, () => {
  const newWorld = frontWorlds();

  it('pods are shown with their devices, and a device of a living pod is not given a second time', async () => {
    const world = newWorld({ upstream: true, front: { exclude: ['local.example/*'] } });
    await world.start();
    await world.pod('p');
    world.plugin({ resource: 'local.example/x' });
    assert.ok(existsSync(path.join(world.kubelet.root, 'pod-resources', 'kubelet.sock')));
    const owners = async (): Promise<string[]> => {
      const [resource] = await world.broker.admin.resources('', false);
      return (resource?.devices ?? []).map(({ owner }) => owner).filter((owner) => owner !== '');
    };
    await eventually('the owner is known', async () => (await owners()).includes('default/p/c'), { withinMs: 25_000 });
    const [resource] = await world.broker.admin.resources('', true);
    assert.equal(resource?.allocated, 1);
    const client = new AllocClient(path.join(world.broker.root, 'alloc.sock'));
    await eventually('a lease of the other resource', async () => {
      return (await refusalOf(client.one('local.example/x', { key: 'job' }))) === 'given';
    });
    const shown = (await client.list()).map(({ owner, granted }) => [owner?.bind, granted[0]?.resource]);
    assert.deepEqual(shown, [
      ['key', 'local.example/x'],
      ['pod', RESOURCE],
    ]);
    assert.deepEqual(
      (await client.list(RESOURCE)).map(({ owner, id, uid }) => [owner?.name, owner?.part, id, uid]),
      [['p', 'c', '', -1]],
    );
    client.close();
    const merged = new PodResourcesCaller(path.join(world.broker.root, 'pod-resources/kubelet.sock'));
    const pods = (await merged.list()).podResources.map(({ containers }) => containers[0]?.devices[0]?.resourceName);
    assert.deepEqual(pods, [RESOURCE, 'local.example/x']);
    const usable = (await merged.allocatable()).devices.map(({ resourceName }) => resourceName);
    assert.deepEqual(usable, [RESOURCE, RESOURCE, 'local.example/x', 'local.example/x']);
    merged.close();
    const { why } = await world.broker.admin.explain(RESOURCE, '');
    assert.match(why, /Towards the kubelet it is fronted: .* default\/p\/c has dev-\d\./);
    // As a kubelet calls that forgot which devices it had given.
    const caller = new AllocateCaller(frontSocket(world.kubelet.root, RESOURCE));
    const given = Object.values(world.kubelet.of('container-started', 'p')[0]?.['devices'] as Record<string, string[]>);
    await assert.rejects(
      caller.allocate(given.flat()),
      /device "dev-\d" is in use by pod default\/p, and the kubelet asked for it again/,
    );
    world.kubelet.delete('p');
    await caller.allocate(given.flat());
    caller.close();
  });

  it('pods are answered from List where the kubelet has Get switched off, as 1.32 may have', async () => {
    const world = newWorld({ upstream: true });
    await world.start({}, '--fault', 'Get=status:UNKNOWN:PodResources API Get method disabled');
    await world.pod('p');
    const merged = new PodResourcesCaller(path.join(world.broker.root, 'pod-resources/kubelet.sock'));
    // Nobody asks the kubelet for all pods within a second after an Allocate.
    const name = (): Promise<unknown> => merged.get('default', 'p').then((got) => got.podResources?.name, String);
    await eventually('the pod', async () => (await name()) === 'p');
    const nobody = (): Promise<unknown> => merged.get('default', 'nobody').catch(String);
    await eventually('why not', async () => String(await nobody()).includes('Get method disabled'));
    merged.close();
  });

  it('are asked for where podResources.upstream says that the kubelet answers', async () => {
    const world = newWorld({ podResources: { upstream: '../k/elsewhere/kubelet.sock' } });
    await world.kubelet.start();
    renameSync(path.join(world.kubelet.root, 'pod-resources'), path.join(world.kubelet.root, 'elsewhere'));
    await world.broker.start();
    world.plugin();
    await world.listed(2);
    await world.pod('p');
    await eventually(
      'the owner is known',
      async () => /default\/p/.test((await world.broker.admin.explain(RESOURCE, '')).why),
      {
        withinMs: 25_000,
      },
    );
  });

  it('a device that its plugin does not list any more stays, unhealthy, and its container waits until it is listed', async () => {
    const world = newWorld();
    const plugin = await world.start({ preStart: true }, '--start-retry', '50ms');
    await world.pod('p', 2);
    await plugin.stop();
    const smaller = world.plugin({ preStart: true, devices: 1 });
    const told = { devices: 2, healthy: 1 };
    await eventually('one of two is healthy', () => isDeepStrictEqual(world.kubelet.listed(RESOURCE), told));
    world.kubelet.restartContainer('p');
    const { message } = await world.kubelet.saw('container-waiting', 'p');
    assert.match(
      String(message),
      /code = FailedPrecondition desc = example.com\/sim: device "dev-1" is not listed by its plugin any more; see plugin-broker explain/,
    );
    assert.equal(
      smaller.of('called').some(({ method }) => method === 'PreStartContainer'),
      false,
    );
    await smaller.stop();
    world.plugin({ preStart: true });
    await world.kubelet.saw('container-started', 'p', 2);
    await world.listed(2);
  });
});
