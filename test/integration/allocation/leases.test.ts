import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import { AllocClient, refusalOf } from '../../support/alloc-client.js';
import { BrokerProcess } from '../../support/broker-process.js';
import { fileURLToPath } from 'node:url';
import { eventually } from '../../support/eventually.js';
import { FakePlugin, healthy } from '../../support/fake-plugin.js';
import { run } from '../../support/program.js';
import { servedPlugin } from '../../support/served-plugin.js';
import { tempDir } from '../../support/temp-dir.js';

const GPU = 'vendor.com/gpu';

describe('leases of a running broker', () => {
  let broker: BrokerProcess;
  let plugin: FakePlugin;
  let client: AllocClient;
  const children: ChildProcess[] = [];
  /** What Allocate waits for. */
  let held: Promise<void> | undefined;

  const owner = async (bind = 'process'): Promise<{ child: ChildProcess; id: string; ids: string[] }> => {
    const script = fileURLToPath(new URL('../../support/alloc-owner-process.js', import.meta.url));
    const child = spawn(process.execPath, [script, path.join(broker.root, 'alloc.sock'), GPU, bind], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    children.push(child);
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    return { child, ...(JSON.parse(line.toString()) as { id: string; ids: string[] }) };
  };
  const allocated = async (): Promise<number | undefined> =>
    (await broker.admin.resources(GPU, true)).find(({ name }) => name === GPU)?.allocated;

  before(async () => {
    broker = new BrokerProcess(tempDir(), { cdi: { dir: 'off' }, allocator: { check: '1s' } });
    await broker.start();
    plugin = await servedPlugin(broker, {
      resource: GPU,
      // As sysfs says of devices without a node, and some plugins pass on.
      devices: healthy('gpu-0', 'gpu-1', 'gpu-2', 'gpu-3').map((one) => ({
        ...one,
        topology: { nodes: [{ id: -1 }] },
      })),
      allocate: (ids) => ({ envs: new Map([['GPU_IDS', ids.join(',')]]) }),
      hook: (method) => (method === 'Allocate' ? held : undefined),
    });
    client = new AllocClient(path.join(broker.root, 'alloc.sock'));
  });
  afterEach(async () => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
    for (const { id } of await client.list()) await client.release({ id });
    await eventually('all is free', async () => (await client.list()).length === 0);
  });
  after(async () => {
    client.close();
    await plugin.stop();
    await broker.close();
  });

  it('are given with the answer of the plugin, are shown with their owner, and are given back', async () => {
    const lease = await client.one(GPU, { count: 2, key: 'job' });
    assert.match(lease.id, /^[0-9a-z]{26}$/);
    assert.deepEqual(lease.granted, [{ resource: GPU, ids: ['gpu-0', 'gpu-1'], numaNodes: [-1] }]);
    assert.equal(lease.envs.get('GPU_IDS'), 'gpu-0,gpu-1');
    assert.equal(lease.envs.get('PLUGIN_BROKER_LEASE'), lease.id);
    assert.equal(lease.envs.get('PLUGIN_BROKER_DEVICES'), `${GPU}=gpu-0;${GPU}=gpu-1`);
    const [resource] = await broker.admin.resources(GPU, false);
    assert.equal(resource?.allocated, 2);
    assert.deepEqual(
      resource.devices.map(({ lease: id }) => id),
      [lease.id, lease.id, '', ''],
    );
    assert.equal(await client.release({ key: 'job' }), true);
    assert.equal(await client.release({ key: 'job' }), false);
    assert.equal(await allocated(), 0);
  });

  it('end with the process that they are bound to, also when it is killed', async () => {
    const { child, ids } = await owner();
    assert.equal(await allocated(), 1);
    assert.equal(await refusalOf(client.one(GPU, { ids, key: 'other' })), 'DEVICE_TAKEN');
    child.kill('SIGKILL');
    const lease = await client.one(GPU, { ids, key: 'other', waitMs: 20_000 });
    assert.deepEqual(lease.granted[0]?.ids, ids);
  });

  it('survive kill -9 of the broker, and end then if their process ended meanwhile', async () => {
    const living = await owner();
    const dying = await owner();
    const { id: kept } = await client.one(GPU, { key: 'kept' });
    await broker.end('SIGKILL');
    dying.child.kill('SIGKILL');
    await once(dying.child, 'exit');
    await broker.start();
    await eventually('its plugin is back', async () => (await broker.allocatable(GPU)) === 4);
    const leases = await client.list();
    assert.deepEqual(
      leases.map(({ id, state }) => [id, state]),
      [
        [living.id, 'active'],
        [kept, 'unconfirmed'],
      ],
    );
    const again = await client.one(GPU, { key: 'kept' });
    assert.deepEqual([again.id, again.state], [kept, 'active']);
  });

  it('follow a reboot: keys keep their devices, processes do not', async () => {
    const process = await owner();
    const { id, granted } = await client.one(GPU, { key: 'kept' });
    await broker.end('SIGTERM');
    await broker.start({ args: ['--boot-id', '11111111-2222-4333-8444-555555555555'] });
    assert.deepEqual(
      (await client.list()).map((lease) => [lease.id, lease.state, lease.granted]),
      [[id, 'unconfirmed', granted]],
    );
    assert.notEqual(process.id, id);
    await broker.end('SIGTERM');
    await broker.start();
  });

  it('are not made by a plugin that vanishes while it is asked, and are when it is back', async () => {
    let goOn = (): void => undefined;
    held = new Promise((resolve) => (goOn = resolve));
    const asked = plugin.count('Allocate');
    const refused = refusalOf(client.one(GPU, { key: 'mid', count: 2 }));
    await eventually('it is asked', () => plugin.count('Allocate') > asked);
    await plugin.stop({ keepFile: true });
    assert.match(await refused, /^PLUGIN_(FAILED|NOT_READY)$/);
    assert.deepEqual([await client.list(), await allocated()], [[], 0]);
    assert.equal(await refusalOf(client.one(GPU, { key: 'mid', count: 2 })), 'PLUGIN_NOT_READY');
    goOn();
    held = undefined;
    await plugin.serve();
    await plugin.register(broker.kubeletSocket);
    await eventually('it is back', async () => (await broker.allocatable(GPU)) === 4);
    const lease = await client.one(GPU, { key: 'mid', count: 2 });
    assert.deepEqual(lease.granted[0]?.ids, ['gpu-0', 'gpu-1']);
    assert.equal(lease.envs.get('GPU_IDS'), 'gpu-0,gpu-1');
  });

  it('are told to their followers: impaired when a device goes, released when they end', async () => {
    const lease = await client.one(GPU, { ids: ['gpu-3'], key: 'watched' });
    const { news, ended } = client.attach({ id: lease.id });
    await eventually('it is attached', () => news.length === 1);
    plugin.setDevices(healthy('gpu-0', 'gpu-1', 'gpu-2'));
    await eventually('it is impaired', () => news.at(-1)?.type === 'impaired');
    assert.equal(news.at(-1)?.reason, 'device-missing');
    plugin.setDevices(healthy('gpu-0', 'gpu-1', 'gpu-2', 'gpu-3'));
    await eventually('it is whole again', () => news.at(-1)?.type === 'active');
    await client.release({ id: lease.id });
    assert.equal(await ended, '');
    assert.equal(news.at(-1)?.type, 'released');
  });
});

describe('the CDI file of a lease that is kept over a restart', () => {
  const cdi = path.join(tempDir(), 'cdi');
  const broker = new BrokerProcess(tempDir(), { cdi: { dir: cdi }, http: { listen: '127.0.0.1:0' } });
  const client = new AllocClient(path.join(broker.root, 'alloc.sock'));
  const plugins: FakePlugin[] = [];

  after(async () => {
    client.close();
    await Promise.all(plugins.map((one) => one.stop()));
    await broker.close();
  });

  /** Starts the broker and waits for the first 200 of /readyz. Gives the names in the CDI directory at that moment. */
  const filesWhenReady = async (args: readonly string[]): Promise<readonly string[]> => {
    const before = broker.log.length;
    const started = broker.start({ args, settled: false });
    const url = await eventually(
      'its address is told',
      () => /served on (127\.0\.0\.1:\d+)/.exec(broker.log.slice(before))?.[1],
    );
    const names = await eventually('it is ready', async () => {
      const { status } = await fetch(`http://${url}/readyz`);
      return status === 200 && (existsSync(cdi) ? readdirSync(cdi) : []);
    });
    await started;
    return names;
  };

  it('is there again before the broker is ready, where it was removed, and after a reboot', async () => {
    await broker.start();
    const socket = path.join(broker.devicePlugins, 'gpu.sock');
    const plugin = await FakePlugin.start({ socket, resource: GPU });
    plugins.push(plugin);
    await plugin.register(broker.kubeletSocket);
    await broker.onDisk(GPU);
    const { id, cdiDevices } = await client.one(GPU, { key: 'kept' });
    assert.deepEqual(cdiDevices, [`plugin-broker/lease=${id}`]);
    const file = `plugin-broker-lease_${id}.json`;
    const text = readFileSync(path.join(cdi, file), 'utf8');
    const reboot = ['--boot-id', '11111111-2222-4333-8444-555555555555'];
    for (const args of [[], reboot]) {
      await broker.end('SIGKILL');
      rmSync(cdi, { recursive: true }); // as a reboot leaves /run
      assert.deepEqual(await filesWhenReady(args), [file], args.join(' '));
      const again = readFileSync(path.join(cdi, file), 'utf8');
      // It says in which boot it was written.
      if (args !== reboot) assert.equal(again, text);
      else assert.ok(again.includes(`.${reboot[1] ?? ''}"`) && !text.includes(reboot[1] ?? ''));
    }
  });
});

describe('a rule about devices that goes by the socket of their plugin', () => {
  const rules = [
    { match: { socket: 'one-each.sock' }, allocate: { max: 1, env: { ONE: 'ids' } } },
    { match: { socket: '**/pods*.sock' }, allocate: { consumer: 'kubelet' } },
  ];
  const broker = new BrokerProcess(tempDir(), { cdi: { dir: 'off' }, rules });
  const plugins: FakePlugin[] = [];
  let client: AllocClient;
  const plugin = async (file: string, resource: string): Promise<FakePlugin> => {
    const socket = path.join(broker.devicePlugins, file);
    const one = await FakePlugin.start({ socket, resource, devices: healthy('a', 'b', 'c') });
    plugins.push(one);
    await one.register(broker.kubeletSocket);
    await eventually('it serves', async () => (await broker.allocatable(resource)) === 3);
    return one;
  };

  before(async () => {
    await broker.start();
    client = new AllocClient(path.join(broker.root, 'alloc.sock'));
  });
  after(async () => {
    client.close();
    await Promise.all(plugins.map((one) => one.stop()));
    await broker.close();
  });

  it('holds for what is asked of the plugin at that socket, and for no other', async () => {
    await plugin('one-each.sock', GPU);
    await plugin('pods.sock', 'vendor.com/pods');
    await plugin('free.sock', 'vendor.com/free');
    assert.equal(await refusalOf(client.one(GPU, { count: 2, key: 'two' })), 'UID_LIMIT');
    const lease = await client.one(GPU, { ids: ['b'], key: 'one' });
    assert.equal(lease.envs.get('ONE'), 'b');
    assert.equal(await refusalOf(client.one(GPU, { key: 'another' })), 'UID_LIMIT');
    assert.equal(await refusalOf(client.one('vendor.com/pods', { key: 'pods' })), 'CONSUMER_IS_KUBELET');
    const [shown] = await broker.admin.resources('vendor.com/pods', true);
    assert.equal(shown?.consumer, 'kubelet');
    assert.equal(await refusalOf(client.one('vendor.com/free', { count: 2, key: 'free' })), 'given');
  });

  it('holds for a request that waits as soon as it is another one', async () => {
    const waiting = refusalOf(client.one(GPU, { key: 'waits', waitMs: 20_000 }));
    await eventually('it waits', async () => (await refusalOf(client.one(GPU, { key: 'x', ids: ['no'] }))) !== 'given');
    broker.configure({ cdi: { dir: 'off' }, rules: [{ match: { socket: 'one-each.sock' }, allocate: { max: 2 } }] });
    assert.equal(await waiting, 'given');
    broker.configure({ cdi: { dir: 'off' }, rules });
    await client.release({ key: 'waits' });
    await eventually('the first rules hold again', async () => {
      const code = await refusalOf(client.one(GPU, { key: 'waits' }));
      await client.release({ key: 'waits' });
      return code === 'UID_LIMIT';
    });
  });

  it('holds when the plugin comes for whom a request has waited', async () => {
    const late = 'vendor.com/late';
    const waiting = refusalOf(client.one(late, { key: 'late', waitMs: 20_000 }));
    await eventually('it waits', async () => (await refusalOf(client.one(late, { key: 'x' }))) === 'NO_DEVICES');
    await plugin('pods-2.sock', late);
    assert.equal(await waiting, 'CONSUMER_IS_KUBELET');
  });
});

describe('a broker with allocator.enabled: false', () => {
  it('serves no alloc.sock, and the leases of its checkpoint stay', async () => {
    const broker = new BrokerProcess(tempDir(), { cdi: { dir: 'off' } });
    await broker.start();
    const plugin = await servedPlugin(broker, { resource: GPU });
    const client = new AllocClient(path.join(broker.root, 'alloc.sock'));
    try {
      await client.one(GPU, { key: 'kept' });
      await broker.end('SIGTERM');
      broker.configure({ cdi: { dir: 'off' }, allocator: { enabled: false } });
      await broker.start();
      assert.equal((await broker.status()).ledger.leases, 1);
      const { code, stderr } = await run(['run', '--root', broker.root, '--device', GPU, '--', 'true']);
      assert.equal(code, 69, stderr);
    } finally {
      client.close();
      await plugin.stop();
      await broker.close();
    }
  });
});
