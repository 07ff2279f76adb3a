import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventually } from '../support/eventually.js';
import { frontWorlds, type FrontWorld, RESOURCE } from '../support/front-world.js';

describe('the front after a reboot of the machine', { timeout: 120_000 }, () => {
  const newWorld = frontWorlds();
  /** A world in which a pod had a device, the machine was started again, and the plugin is not there yet. */
  const rebooted = async (front: object): Promise<FrontWorld> => {
    const world = newWorld({ front });
    const plugin = await world.start();
    await world.pod('p');
    await world.broker.onDisk(RESOURCE);
    await world.kubelet.end();
    await world.broker.end('SIGTERM');
    await plugin.stop();
    await world.broker.start({ args: ['--boot-id', 'another'], settled: false });
    await world.kubelet.start('--reboot', '--admit-after', '2s', '--start-retry', '100ms');
    return world;
  };

  it('speculate: off: the pod fails, because its plugin is late', async () => {
    const world = await rebooted({ speculate: 'off' });
    assert.match(String((await world.kubelet.saw('rejected', 'p'))['message']), /no healthy devices present/);
  });

  it('speculate: gated: the pod is admitted, waits at the gate, and starts when its plugin is there', async () => {
    const world = await rebooted({ speculate: 'gated' });
    await world.kubelet.saw('admitted', 'p', 2);
    const [resource] = await world.broker.admin.resources('', false);
    assert.equal(resource?.front.state, 'speculating');
    assert.equal(resource.allocatable, 0);
    assert.equal(world.kubelet.of('container-started', 'p').length, 1);
    world.plugin();
    await world.kubelet.saw('container-started', 'p', 2);
    await eventually(
      'it is fronted',
      async () => (await world.broker.admin.resources('', false)).at(0)?.front.state === 'fronted',
    );
  });

  it('speculate: gated: after front.speculateFor the devices are unhealthy', async () => {
    const world = await rebooted({ speculate: 'gated', speculateFor: '9s' });
    await world.kubelet.saw('admitted', 'p', 2);
    await eventually(
      'they are unhealthy',
      () => {
        const listed = world.kubelet.listed(RESOURCE);
        return listed?.healthy === 0 && listed.devices === 2;
      },
      { withinMs: 30_000 },
    );
  });
});
