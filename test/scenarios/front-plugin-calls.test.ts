import assert from 'node:assert/strict';
import path from 'node:path';
import { describe, it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { eventually } from '../support/eventually.js';
import { FakePlugin } from '../support/fake-plugin.js';
import { AllocateCaller, frontSocket } from '../support/front-caller.js';
import { frontWorlds, RESOURCE, type FrontWorld } from '../support/front-world.js';
import { PodResourcesCaller } from '../support/pod-resources-caller.js';
import { RegisterCaller } from '../support/register-caller.js';

const OTHER = 'example.com/other';

/** Calls Register in its name, from its own process, until it is in quarantine. */
async function misbehave(world: FrontWorld, socket: string): Promise<void> {
  const caller = new RegisterCaller(world.broker.kubeletSocket, RESOURCE, path.basename(socket));
  while ((await caller.call())?.details.startsWith('QUARANTINED') !== true);
  caller.close();
}

describe('a plugin behind the front', { timeout: 120_000, concurrency: 4 }, () => {
  const newWorld = frontWorlds();

  it('that hangs in Allocate: the kubelet is not asked for its pods meanwhile, neither by us nor for our clients, and then is at once', async () => {
    const world = newWorld({ upstream: true, timeouts: { allocate: '60s' } });
    await world.kubelet.start();
    await world.broker.start();
    let goOn = (): void => undefined;
    const released = new Promise<void>((resolve) => (goOn = resolve));
    const plugin = await FakePlugin.start({
      socket: path.join(world.broker.devicePlugins, 'fake.sock'),
      resource: RESOURCE,
      hook: (method) => (method === 'Allocate' ? released : undefined),
    });
    const caller = new PodResourcesCaller(path.join(world.broker.root, 'pod-resources', 'kubelet.sock'));
    try {
      await plugin.register(world.broker.kubeletSocket);
      await world.listed(2);
      const lists = (): string[] => {
        const calls = world.kubelet.of('called').filter(({ method }) => method === 'List');
        return calls.map(({ time }) => time);
      };
      await eventually('it was asked once', () => lists().length > 0);
      world.kubelet.create('p', { [RESOURCE]: 1 });
      await eventually('Allocate has arrived', () => plugin.count('Allocate') === 1);
      const before = lists();
      const due = Date.parse(before.at(-1) ?? '') + 11_000;
      const isOverdue = async (): Promise<boolean> => {
        await caller.list();
        return Date.now() >= due;
      };
      await eventually('it is time to ask again', isOverdue, { everyMs: 200 });
      assert.deepEqual([lists(), world.kubelet.of('admitted', 'p').length], [before, 0]);
      goOn();
      await world.kubelet.saw('container-started', 'p');
      await eventually('it was asked again', () => lists().length > before.length);
    } finally {
      goOn();
      caller.close();
      await plugin.stop();
    }
  });

  it('that hangs in PreStartContainer: its container is started at the next try, and meanwhile a pod of another resource is', async () => {
    const world = newWorld({ timeouts: { preStart: '3s' } });
    const fault = [{ method: 'PreStartContainer', first: 1, act: { kind: 'never' } }] as const;
    const plugin = await world.start({ preStart: true, fault }, '--start-retry', '50ms');
    world.plugin({ resource: OTHER, preStart: true });
    await world.listed(2, OTHER);
    const asked = (): number => plugin.of('called').filter(({ method }) => method === 'PreStartContainer').length;
    world.kubelet.create('p', { [RESOURCE]: 1 });
    await eventually('it is asked', () => asked() === 1);
    await world.pod('q', 1, OTHER);
    assert.equal(world.kubelet.of('container-waiting', 'p').length, 0);
    const { message } = await world.kubelet.saw('container-waiting', 'p');
    assert.match(
      String(message),
      /code = Unavailable desc = example.com\/sim: its plugin did not answer PreStartContainer within 3000 ms; see/,
    );
    await world.kubelet.saw('container-started', 'p');
    assert.deepEqual([asked(), world.kubelet.of('rejected').length], [2, 0]);
  });

  for (const method of ['GetDevicePluginOptions', 'ListAndWatch'] as const) {
    it(`that hangs in ${method}: the kubelet keeps the list, a new pod is refused after front.hold, and another resource goes on`, async () => {
      const world = newWorld({ front: { hold: '200ms' } });
      const plugin = await world.start();
      world.plugin({ resource: OTHER });
      await world.listed(2, OTHER);
      await plugin.stop();
      const hanging = world.plugin({ fault: [{ method, first: Infinity, act: { kind: 'never' } }] });
      if (method === 'ListAndWatch') await hanging.saw('list-and-watch-opened');
      else await eventually('it is asked', () => hanging.of('called').some((line) => line['method'] === method));
      world.kubelet.create('p', { [RESOURCE]: 1 });
      const { message } = await world.kubelet.saw('rejected', 'p');
      assert.match(
        String(message),
        /code = Unavailable desc = example.com\/sim: its plugin is (held|connecting) \([\w-]+\) and did not come back in time; see/,
      );
      await world.pod('q', 1, OTHER);
      assert.deepEqual(world.kubelet.listed(RESOURCE), { devices: 2, healthy: 2 });
      assert.equal(world.kubelet.of('disconnected', RESOURCE).length, 0);
      await hanging.stop();
      world.plugin();
      await eventually('its devices can be used', async () => (await world.broker.allocatable(RESOURCE)) === 2);
      await world.pod('r');
    });
  }

  it('in quarantine has no healthy device, Allocate and PreStartContainer are refused, and its container starts when it is over', async () => {
    const world = newWorld({
      flood: {
        register: { burst: 2, interval: '60s', onExceed: 'reject' },
        penalty: { strikes: 2, window: '30s', quarantine: '4s' },
      },
    });
    const plugin = await world.start({ preStart: true }, '--start-retry', '100ms');
    await world.pod('p');
    await misbehave(world, plugin.socket);
    const none = { devices: 2, healthy: 0 };
    await eventually('none is healthy', () => isDeepStrictEqual(world.kubelet.listed(RESOURCE), none));
    const caller = new AllocateCaller(frontSocket(world.kubelet.root, RESOURCE));
    await assert.rejects(
      caller.allocate(['dev-1']),
      /^Error: 9 FAILED_PRECONDITION: example.com\/sim: its plugin is quarantined \(quarantine\); see plugin-broker explain/,
    );
    caller.close();
    world.kubelet.restartContainer('p');
    assert.match(
      String((await world.kubelet.saw('container-waiting', 'p'))['message']),
      /code = FailedPrecondition desc = example.com\/sim: its plugin is quarantined \(quarantine\); see plugin-broker explain/,
    );
    await world.kubelet.saw('container-started', 'p', 2);
    await world.listed(2);
    assert.equal(world.kubelet.of('disconnected', RESOURCE).length, 0, 'the streams of the kubelet stayed');
  });
});
