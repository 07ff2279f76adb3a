import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import type { ResourceView } from '../../../src/model/views.js';
import { AllocClient, refusalOf } from '../../support/alloc-client.js';
import { eventually } from '../../support/eventually.js';
import { FrontWorld, RESOURCE } from '../../support/front-world.js';

describe('the consumer of a resource, when the configuration changes', { timeout: 90_000 }, () => {
  const world = new FrontWorld({ rules: [{ match: { name: RESOURCE }, allocate: { consumer: 'local' } }] });
  after(() => world.close());

  const say = (consumer: 'local' | 'kubelet'): void => {
    const front = { enabled: true, kubeletDir: world.kubelet.root };
    const rules = [{ match: { name: RESOURCE }, allocate: { consumer } }];
    writeFileSync(
      path.join(world.broker.root, 'config.yaml'),
      JSON.stringify({ http: { listen: 'off' }, front, rules }),
    );
  };
  const shown = async (): Promise<ResourceView | undefined> => (await world.broker.admin.resources('', true))[0];

  it('it stays with a lease until that has ended, and with a pod until that is gone, and is never of both', async () => {
    await world.kubelet.start();
    await world.broker.start();
    world.plugin();
    await eventually('it is there', async () => (await world.broker.allocatable(RESOURCE)) === 2);
    const client = new AllocClient(path.join(world.broker.root, 'alloc.sock'));
    await client.one(RESOURCE, { key: 'held' });
    say('kubelet');
    await eventually('it is said why it stays', async () =>
      /stays with owners of leases/.test((await shown())?.front.reason ?? ''),
    );
    const { consumer, front: standing } = (await shown()) ?? {};
    assert.deepEqual([consumer, standing?.stays], ['local', true]);
    assert.equal(world.kubelet.of('registered', RESOURCE).length, 0);
    assert.equal(await refusalOf(client.one(RESOURCE, { key: 'more' })), 'given', 'until then it is for leases');
    await client.release({ key: 'held' });
    await client.release({ key: 'more' });
    await world.listed(2);
    assert.equal((await shown())?.front.stays, false);
    assert.equal(await refusalOf(client.one(RESOURCE, { key: 'late' })), 'CONSUMER_IS_KUBELET');
    await world.pod('p');
    say('local'); // the kubelet has not said yet that the pod has it
    await eventually('it is said why it stays', async () =>
      /stays with the kubelet/.test((await shown())?.front.reason ?? ''),
    );
    assert.equal(await refusalOf(client.one(RESOURCE, { key: 'late' })), 'CONSUMER_IS_KUBELET');
    await eventually('the pod is known', async () => (await shown())?.allocated === 1, { withinMs: 25_000 });
    assert.equal(await refusalOf(client.one(RESOURCE, { key: 'late' })), 'CONSUMER_IS_KUBELET');
    assert.equal(world.kubelet.listed(RESOURCE)?.healthy, 2);
    client.close();
    await world.broker.end('SIGTERM');
    await world.broker.start();
    const again = new AllocClient(path.join(world.broker.root, 'alloc.sock'));
    // Before the kubelet was asked which pods it has, or did not answer in time, nobody is let in.
    const answered = await eventually('alloc.sock is served', async () => {
      const answer = await refusalOf(again.one(RESOURCE, { key: 'late' }));
      return answer.startsWith('No connection') ? undefined : answer;
    });
    assert.equal(answered, 'CONSUMER_IS_KUBELET', 'a new broker knows it');
    again.close();
  });
});

describe('a plugin of an ordinary user behind the front', { timeout: 90_000 }, () => {
  const UID = 54_321;
  const world = new FrontWorld();
  after(() => world.close());

  const skip = process.getuid?.() === 0 ? false : 'SKIPPED: only root can start a plugin as another user';

  it('is not told to the kubelet, and it is said why, until a rule names the user', { skip }, async () => {
    const { broker, kubelet } = world;
    await kubelet.start();
    await broker.start();
    for (const folder of [path.dirname(broker.root), broker.root]) chmodSync(folder, 0o755);
    chmodSync(broker.devicePlugins, 0o777);
    chmodSync(broker.kubeletSocket, 0o777);
    const file = path.join(import.meta.dirname, '..', '..', 'support', 'other-uid-plugin.js');
    const argv = [file, String(UID), path.join(broker.devicePlugins, 'p.sock'), broker.kubeletSocket, RESOURCE];
    const plugin = spawn(process.execPath, argv, { stdio: ['pipe', 'pipe', 'inherit'] });
    try {
      assert.equal(String((await once(plugin.stdout, 'data'))[0]), 'registered\n');
      await eventually('it serves, and it is said why nobody has it', async () => {
        const [shown] = await broker.admin.resources('', true);
        return shown?.allocatable === 2 && /stays with nobody until a rule names uid 54321/.test(shown.front.reason);
      });
      assert.equal(kubelet.of('registered', RESOURCE).length, 0);
      const front = { enabled: true, kubeletDir: kubelet.root };
      const rules = [{ match: { name: RESOURCE }, uids: [UID] }];
      writeFileSync(path.join(broker.root, 'config.yaml'), JSON.stringify({ http: { listen: 'off' }, front, rules }));
      await world.listed(2);
    } finally {
      plugin.kill('SIGKILL');
    }
  });
});
