import assert from 'node:assert/strict';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { eventually } from '../support/eventually.js';
import { BrokerProcess } from '../support/broker-process.js';
import { PodResourcesCaller } from '../support/pod-resources-caller.js';
import { FrontWorld, RESOURCE } from '../support/front-world.js';
import { tempDir } from '../support/temp-dir.js';
import { RunningSim } from '../support/running-sim.js';

describe('the front beside faults', { timeout: 180_000 }, () => {
  const open: { close(): Promise<void> }[] = [];
  after(async () => {
    for (const one of open.reverse()) await one.close();
  });
  const newWorld = (config?: ConstructorParameters<typeof FrontWorld>[0]): FrontWorld => {
    const world = new FrontWorld(config);
    open.push(world);
    return world;
  };

  it('a plugin that floods: the kubelet gets a list a second and no Register', async () => {
    const world = newWorld();
    await world.kubelet.start();
    await world.broker.start();
    // Its lists differ in their health all the time.
    world.plugin({ updateEvery: 0 });
    await eventually('the kubelet has a list', () => world.kubelet.listed(RESOURCE) !== undefined);
    const registered = world.kubelet.of('registered', RESOURCE).length;
    // By its other door the kubelet gets the same lists once more, as soon as it has dialled that.
    const heard = (): number =>
      world.kubelet
        .of('list', RESOURCE)
        .filter(({ socket }) => path.dirname(path.dirname(String(socket))) === world.kubelet.devicePlugins).length;
    const before = heard();
    const since = Date.now();
    await eventually('lists go on', () => heard() >= before + 8, { withinMs: 30_000 });
    const seconds = (Date.now() - since) / 1000;
    const lists = heard() - before;
    // Three may go ahead of their time, because a device stopped being healthy, and a busy machine shows a few late.
    assert.ok(lists <= seconds + 6, `${String(lists)} lists in ${String(seconds)} s`);
    assert.ok(world.kubelet.of('registered', RESOURCE).length - registered <= 1);
  });

  it('a device that stops being healthy: the kubelet hears of it at once, however short ago the last list was', async () => {
    const world = newWorld();
    const flapping = world.start({ flap: 600, flapDevices: 1 });
    await flapping;
    await eventually('it is unhealthy', () => world.kubelet.listed(RESOURCE)?.healthy === 1);
    await eventually('it is healthy', () => world.kubelet.listed(RESOURCE)?.healthy === 2);
  });

  it('a plugin that never answers, and ten pods behind it: only the first waits', async () => {
    const world = newWorld({ timeouts: { allocate: '300ms' } });
    await world.start({ devices: 20, fault: [{ method: 'Allocate', first: Infinity, act: { kind: 'never' } }] });
    for (let nth = 0; nth < 10; nth++) world.kubelet.create(`p${String(nth)}`, { [RESOURCE]: 1 });
    const messages = [];
    for (let nth = 0; nth < 10; nth++)
      messages.push(String((await world.kubelet.saw('rejected', `p${String(nth)}`))['message']));
    assert.match(messages[0] ?? '', /its plugin did not answer Allocate within 300 ms/);
    for (const message of messages.slice(1)) assert.match(message, /did not answer the last call in time/);
    const took = world.kubelet.of('rejected').reduce((sum, line) => sum + (line['tookMs'] as number), 0);
    assert.ok(took < 1500, `${String(took)} ms`);
  });

  it('a slow plugin that works with the kubelet itself works behind the broker', async () => {
    const world = newWorld();
    await world.start({ fault: [{ method: 'Allocate', first: Infinity, act: { kind: 'delay', ms: 2500 } }] });
    await world.pod('p');
  });

  it('a plugin that answers again after a call that timed out is asked again', async () => {
    const world = newWorld({ timeouts: { allocate: '200ms' } });
    await world.start({ fault: [{ method: 'Allocate', first: 1, act: { kind: 'never' } }] });
    world.kubelet.create('p', { [RESOURCE]: 1 });
    await world.kubelet.saw('rejected', 'p');
    let nth = 0;
    await eventually('a pod comes up', async () => {
      nth++;
      world.kubelet.create(`q${String(nth)}`, { [RESOURCE]: 1 });
      await eventually('it is decided', () => {
        return (
          world.kubelet.of('admitted', `q${String(nth)}`).length +
            world.kubelet.of('rejected', `q${String(nth)}`).length >
          0
        );
      });
      await new Promise((resolve) => setTimeout(resolve, 100));
      return world.kubelet.of('admitted', `q${String(nth)}`).length > 0;
    });
  });

  it('advice that a plugin does not give in time is left out', async () => {
    const world = newWorld({ timeouts: { preferred: '100ms' } });
    await world.start({
      preferredAllocation: true,
      fault: [{ method: 'GetPreferredAllocation', first: Infinity, act: { kind: 'never' } }],
    });
    await world.pod('p');
  });

  it('a plugin that refuses: its words reach the status of the pod', async () => {
    const world = newWorld();
    const act = { kind: 'status', code: 9, details: 'the lid is open' } as const;
    await world.start({ fault: [{ method: 'Allocate', first: Infinity, act }] });
    world.kubelet.create('p', { [RESOURCE]: 1 });
    const { message } = await world.kubelet.saw('rejected', 'p');
    assert.match(
      String(message),
      /code = FailedPrecondition desc = example.com\/sim: its plugin failed Allocate: the lid is open/,
    );
  });

  it('a plugin whose PreStartContainer fails once: the container starts with the next try', async () => {
    const world = newWorld();
    const fault = {
      method: 'PreStartContainer',
      first: 1,
      act: { kind: 'status', code: 14, details: 'not yet' },
    } as const;
    await world.start({ preStart: true, fault: [fault] }, '--start-retry', '20ms');
    await world.pod('p');
    assert.match(String(world.kubelet.of('container-waiting', 'p')[0]?.['message']), /not yet/);
  });

  it('a list that is larger than a kubelet takes is not sent, and the resource says so', async () => {
    const world = newWorld();
    await world.kubelet.start();
    await world.broker.start();
    world.plugin({ devices: 18_000, idBytes: 240 });
    world.plugin({ resource: 'example.com/small' });
    await world.listed(2, 'example.com/small');
    await eventually('it says so', async () => {
      const resources = await world.broker.admin.resources('', false);
      return resources.find(({ name }) => name === RESOURCE)?.front.state === 'too-large';
    });
    assert.equal(world.kubelet.of('registered', RESOURCE).length, 0);
  });

  it('a kubelet that refuses Register is called until it takes it', async () => {
    const world = newWorld();
    await world.kubelet.start('--fault', 'Register=status:INTERNAL:busy@3');
    await world.broker.start();
    world.plugin();
    await world.listed(2);
  });

  it('a kubelet whose PodResources never answers: pods have their devices all the same, and it is said', async () => {
    const world = newWorld({ upstream: true });
    const faults = ['List', 'Get', 'GetAllocatableResources'].flatMap((method) => ['--fault', `${method}=never`]);
    await world.start({}, ...faults);
    await world.pod('p');
    await world.pod('q');
    const caller = new PodResourcesCaller(path.join(world.broker.root, 'pod-resources', 'kubelet.sock'));
    // The kubelet is not asked within a second after an Allocate.
    await eventually('it is said', async () => {
      assert.deepEqual((await caller.list()).podResources, []);
      return (await world.broker.status()).broker.problems.some((problem) => problem.includes('PodResources'));
    });
    caller.close();
  });

  it('a plugin that ends in the middle of PreStartContainer: the container starts when it is back', async () => {
    const world = newWorld();
    const fault = [{ method: 'PreStartContainer', first: 1, act: { kind: 'never' } }] as const;
    const plugin = await world.start({ preStart: true, fault }, '--start-retry', '200ms');
    world.kubelet.create('p', { [RESOURCE]: 1 });
    await eventually('it is asked', () => plugin.of('called').some(({ method }) => method === 'PreStartContainer'));
    await plugin.stop();
    world.plugin({ preStart: true });
    await world.kubelet.saw('container-started', 'p');
    assert.equal(world.kubelet.of('rejected', 'p').length, 0);
  });

  it('a kubelet that is frozen for a while has everything when it goes on', async () => {
    const world = newWorld();
    const plugin = await world.start();
    world.kubelet.freeze(true);
    await plugin.stop();
    world.plugin({ devices: 3 });
    await eventually('the broker has three', async () => (await world.broker.allocatable(RESOURCE)) === 3);
    world.kubelet.freeze(false);
    await world.listed(3);
    await world.pod('p', 3);
  });

  it('a second broker before the same kubelet is refused, and takes over when the first has gone', async () => {
    const world = newWorld();
    await world.start();
    const second = new BrokerProcess(tempDir(), { front: { enabled: true, kubeletDir: world.kubelet.root } });
    open.push(second);
    await second.start();
    const plugin = new RunningSim(second.devicePlugins, { registry: second.registry, devices: 5 });
    open.push({ close: () => plugin.stop().then(() => undefined) });
    await eventually('it says why', async () => {
      const [resource] = await second.admin.resources('', false);
      const { state, reason } = resource?.front ?? {};
      return state === 'refused' && /another broker stands before this kubelet/.test(reason ?? '');
    });
    assert.deepEqual(world.kubelet.listed(RESOURCE), { devices: 2, healthy: 2 });
    await world.broker.end('SIGTERM');
    await world.listed(5);
  });

  it('a plugin registered past us: the newest serves, and when it has gone the kubelet has the devices from us again', async () => {
    const world = newWorld();
    await world.start();
    const past = world.pluginPastUs({ devices: 5 });
    await world.listed(5);
    await past.stop();
    // The kubelet cuts off its newest client and keeps our stream, on which it hears nothing new.
    await eventually('the kubelet lost it', () => world.kubelet.listed(RESOURCE)?.healthy === 0);
    await eventually('the kubelet has ours', () => world.kubelet.listed(RESOURCE)?.healthy === 2, { withinMs: 40_000 });
    await world.pod('p');
  });

  it('a plugin that says goodbye takes its devices away from the kubelet, and brings them back', async () => {
    const world = newWorld();
    const plugin = await world.start({ leave: 'goodbye' });
    await plugin.stop();
    const { socket, why } = await world.kubelet.saw('stream-ended', RESOURCE);
    assert.equal(why, 'the plugin ended its stream');
    const told = world.kubelet.of('list', RESOURCE).filter((line) => line['socket'] === socket);
    assert.deepEqual(
      told.map(({ devices }) => devices),
      [2, 0],
      'an empty list came before the end',
    );
    world.plugin();
    await world.listed(2);
  });
});
