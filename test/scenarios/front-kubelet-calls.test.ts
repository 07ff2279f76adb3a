import assert from 'node:assert/strict';
import path from 'node:path';
import { describe, it } from 'node:test';
import { eventually } from '../support/eventually.js';
import { AllocateCaller, frontSocket } from '../support/front-caller.js';
import { frontWorlds, RESOURCE, type FrontWorld } from '../support/front-world.js';
import type { KubeletLine } from '../support/kubelet-process.js';
import { PodResourcesCaller } from '../support/pod-resources-caller.js';

const OTHER = 'example.com/other';

/** Waits until the kubelet got a call of a method. */
const called = (world: FrontWorld, method: string): Promise<KubeletLine> =>
  eventually(`${method} has arrived`, () => world.kubelet.of('called').find((line) => line['method'] === method));

/** Kubelet, broker and a plugin, and the kubelet has got the call of one method, to which it answers as its fault says. */
async function provoke(
  world: FrontWorld,
  method: 'Register' | 'List' | 'GetAllocatableResources',
  act: string,
): Promise<void> {
  await world.kubelet.start('--fault', `${method}=${act}`);
  await world.broker.start();
  world.plugin();
  await called(world, method);
}

/**
 * The same with Get: a pod that was there before the broker, so that its owner is known by List, has its device asked for again.
 * Gives the answer to that.
 */
async function provokeGet(world: FrontWorld, act: string): Promise<{ readonly given: Promise<unknown> }> {
  await world.start({}, '--fault', `Get=${act}`);
  await world.pod('p');
  await world.broker.onDisk(RESOURCE);
  await world.broker.end('SIGTERM');
  await world.broker.start();
  await world.listed(2);
  await eventually('the owner is known', async () => {
    return (await world.broker.admin.resources('', true))[0]?.allocated === 1;
  });
  const caller = new AllocateCaller(frontSocket(world.kubelet.root, RESOURCE));
  const given = caller.allocate(['dev-0']).finally(() => caller.close());
  given.catch(() => undefined); // the test looks at it later
  await called(world, 'Get');
  return { given };
}

describe('a kubelet before which the front stands', { timeout: 120_000, concurrency: 4 }, () => {
  const newWorld = frontWorlds();

  it('that never answers one Register is called again, and meanwhile it has another resource', async () => {
    const world = newWorld();
    await provoke(world, 'Register', 'never@1');
    world.plugin({ resource: OTHER });
    await world.listed(2, OTHER);
    await world.pod('q', 1, OTHER);
    assert.equal(world.kubelet.of('registered', RESOURCE).length, 0);
    await world.kubelet.saw('registered', RESOURCE, 1, 30_000);
    await world.listed(2);
    await world.pod('p');
  });

  for (const method of ['Register', 'List', 'GetAllocatableResources'] as const) {
    it(`that is killed in the middle of our ${method}: the next one has the devices, and pods come up`, async () => {
      const world = newWorld();
      await provoke(world, method, 'never');
      await world.kubelet.end('SIGKILL');
      await world.kubelet.start();
      await world.listed(2);
      await world.pod('p');
    });
  }

  it('that is killed in the middle of our Get: the Allocate that waits for it is passed on, and the next one has the devices', async () => {
    const world = newWorld();
    const { given } = await provokeGet(world, 'never');
    await world.kubelet.end('SIGKILL');
    await given;
    await world.kubelet.start();
    await world.listed(2);
    await world.pod('q');
  });

  for (const method of ['GetPreferredAllocation', 'Allocate', 'PreStartContainer'] as const) {
    it(`that is killed in the middle of its ${method}: the next one has the devices, and the pod comes up`, async () => {
      const world = newWorld();
      const fault = [{ method, first: 1, act: { kind: 'never' } }] as const;
      const plugin = await world.start({ preStart: true, preferredAllocation: true, fault });
      world.kubelet.create('p', { [RESOURCE]: 1 });
      await eventually('it has arrived', () => plugin.of('called').some((line) => line['method'] === method));
      await world.kubelet.end('SIGKILL');
      await world.kubelet.start('--admit-after', '3s', '--start-retry', '100ms');
      await world.kubelet.saw('container-started', 'p', 1, 20_000);
      assert.equal(world.kubelet.of('rejected').length, 0);
    });
  }

  for (const method of ['List', 'GetAllocatableResources'] as const) {
    it(`that refuses ${method}: pods have their devices all the same, and it is said`, async () => {
      const world = newWorld({ upstream: true });
      await provoke(world, method, 'status:INTERNAL:busy');
      await world.listed(2);
      await world.pod('p');
      const caller = new PodResourcesCaller(path.join(world.broker.root, 'pod-resources', 'kubelet.sock'));
      // The kubelet is not asked for all pods within a second after an Allocate.
      await eventually('it is said', async () => {
        if (method === 'List') assert.deepEqual((await caller.list()).podResources, []);
        else assert.deepEqual((await caller.allocatable()).devices, []);
        const { problems } = (await world.broker.status()).broker;
        return problems.some((problem) =>
          new RegExp(`does not answer ${method} of PodResources: .*busy`).test(problem),
        );
      });
      caller.close();
      await world.pod('q');
      assert.deepEqual(world.kubelet.listed(RESOURCE), { devices: 2, healthy: 2 });
    });
  }

  it('that refuses Get: an Allocate of a device whose owner cannot be confirmed is passed on', async () => {
    const world = newWorld();
    const { given } = await provokeGet(world, 'status:INTERNAL:busy');
    await given;
    await world.pod('q');
  });
});
