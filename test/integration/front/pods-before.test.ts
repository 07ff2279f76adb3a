import assert from 'node:assert/strict';
import { chmodSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { kubeletPaths } from '../../../src/platform/kubelet/front-paths.js';
import { FrontedBefore } from '../../../src/platform/kubelet/fronted-before.js';
import { systemClock } from '../../../src/platform/time/system-clock.js';
import { AllocClient, refusalOf } from '../../support/alloc-client.js';
import { eventually } from '../../support/eventually.js';
import { FrontWorld, RESOURCE } from '../../support/front-world.js';
import { kubeletSockets } from '../../support/kubelet-sockets.js';
import { run } from '../../support/program.js';
import { tempDir } from '../../support/temp-dir.js';

const REST = { http: { listen: 'off' }, cdi: { dir: 'off' }, discovery: { rescan: '100ms' } };

/** The answer of a broker to a request for both devices, as soon as it serves alloc.sock and has the list. */
async function lease(world: FrontWorld, waitMs = 0): Promise<string> {
  const client = new AllocClient(path.join(world.broker.root, 'alloc.sock'));
  try {
    return await eventually('alloc.sock is served', async () => {
      const answer = await refusalOf(client.one(RESOURCE, { key: 'job', count: 2, waitMs }));
      return /^No connection|PLUGIN_NOT_READY|RESOURCE_UNKNOWN/.test(answer) ? undefined : answer;
    });
  } finally {
    client.close();
  }
}

const reason = async ({ broker }: FrontWorld): Promise<string> =>
  (await broker.admin.resources('', true))[0]?.front.reason ?? '';

describe(
  'devices of pods, when the broker is started anew and their resource is to be for leases',
  { timeout: 90_000 },
  () => {
    const worlds: FrontWorld[] = [];
    after(async () => {
      for (const world of worlds) await world.close();
    });

    /** A pod has a device, and the broker has ended. */
    async function left(): Promise<FrontWorld> {
      const world = new FrontWorld(REST);
      worlds.push(world);
      await world.start();
      await world.pod('p');
      await world.broker.end('SIGTERM');
      return world;
    }

    it('are in no lease while the front is off, until its sockets were taken out of the directory of the kubelet', async () => {
      const world = await left();
      const { root } = world.kubelet;
      world.broker.configure({ ...REST, front: { enabled: false, kubeletDir: root } });
      await world.broker.start();
      assert.equal(await lease(world), 'CONSUMER_IS_KUBELET');
      assert.match(
        await reason(world),
        /^it stays with the kubelet until its pods have ended, .* front uninstall, and is/,
      );
      world.kubelet.delete('p');
      const waiting = lease(world, 20_000);
      // Refused as long as the kubelet has not noticed that nobody serves it any more.
      const uninstalled = async (): Promise<boolean> =>
        (await run(['front', 'uninstall', '--kubelet-dir', root])).code === 0;
      await eventually('its sockets are taken out', uninstalled);
      assert.equal(await waiting, 'given');
      assert.equal(await reason(world), '');
    });

    it('are in no lease while the kubelet does not answer, nor after it has named them', async () => {
      const world = await left();
      await world.kubelet.end('SIGKILL');
      const rules = [{ match: { name: RESOURCE }, allocate: { consumer: 'local' } }];
      world.broker.configure({ ...REST, front: { enabled: true, kubeletDir: world.kubelet.root }, rules });
      await world.broker.start();
      assert.equal(await lease(world), 'CONSUMER_IS_KUBELET');
      assert.match(await reason(world), /until that has said twice \(PodResources\) which pods have devices/);
      await world.kubelet.start();
      await eventually('the pod is known', async () => /until the 1 devices that pods have/.test(await reason(world)), {
        withinMs: 25_000,
      });
      assert.equal(await lease(world), 'CONSUMER_IS_KUBELET');
    });
  },
);

describe('the resources that were offered to pods before', () => {
  it('are those whose sockets are left, where the front is off those that no other broker serves', async () => {
    const root = tempDir();
    const { devicePlugins } = kubeletPaths(root);
    mkdirSync(devicePlugins);
    chmodSync(devicePlugins, 0o755);
    const before = new FrontedBefore(root);
    await before.read(undefined);
    assert.deepEqual([before.has(RESOURCE), before.look()], [false, false]);
    const sockets = kubeletSockets(RESOURCE, root);
    await sockets.ensure();
    assert.equal(before.has(RESOURCE), false, 'its own are not among them');
    await before.read(undefined);
    assert.deepEqual([before.has(RESOURCE), before.has('example.com/other')], [true, false]);
    await before.read(systemClock);
    assert.equal(before.has(RESOURCE), false);
    sockets.close(false);
    await before.read(systemClock);
    assert.equal(before.has(RESOURCE), true);
    assert.deepEqual([before.look(), before.has(RESOURCE)], [false, true]);
    assert.equal((await run(['front', 'uninstall', '--kubelet-dir', root])).code, 0);
    assert.deepEqual([before.look(), before.look(), before.has(RESOURCE)], [true, false, false]);
  });
});
