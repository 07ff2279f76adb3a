import assert from 'node:assert/strict';
import { connect } from 'node:net';
import path from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import { Client, credentials, status, type ServiceError } from '@grpc/grpc-js';
import { allocatorService } from '../../src/generated/proto/pluginbroker/v1/allocator.js';
import { AllocClient, refusalOf } from '../support/alloc-client.js';
import { BrokerProcess } from '../support/broker-process.js';
import { distFile } from '../support/dist.js';
import { eventually } from '../support/eventually.js';
import { FakePlugin, healthy } from '../support/fake-plugin.js';
import { ATTACKS } from '../support/http2/attacks.js';
import { startCommand, type Running } from '../support/program.js';
import { tempDir } from '../support/temp-dir.js';

const GPU = 'vendor.com/gpu';
const IDS = ['gpu-0', 'gpu-1', 'gpu-2', 'gpu-3'];

describe('alloc.sock through the lives of a broker', { timeout: 120_000 }, () => {
  let broker: BrokerProcess;
  let plugin: FakePlugin;
  let client: AllocClient;
  let socket = '';
  /** Allocate waits for it, and `goOn` ends it. */
  let held: Promise<void> | undefined;
  let goOn = (): void => undefined;
  const running: Running[] = [];

  before(async () => {
    broker = new BrokerProcess(tempDir(), { cdi: { dir: 'off' }, allocator: { check: '1s' } });
    await broker.start();
    socket = path.join(broker.root, 'alloc.sock');
    plugin = await FakePlugin.start({
      socket: path.join(broker.devicePlugins, 'gpu.sock'),
      resource: GPU,
      devices: healthy(...IDS),
      allocate: (ids) => ({ envs: new Map([['GPU_IDS', ids.join(',')]]) }),
      hook: (method) => (method === 'Allocate' ? held : undefined),
    });
    await plugin.register(broker.kubeletSocket);
    await broker.onDisk(GPU);
    client = new AllocClient(socket);
  });
  afterEach(() => {
    held = undefined;
    goOn();
    for (const { child } of running.splice(0)) child.kill('SIGKILL');
  });
  after(async () => {
    client.close();
    await plugin.stop();
    await broker.close();
  });

  const ready = (): Promise<unknown> =>
    eventually('its plugin is back', async () => (await broker.allocatable(GPU)) === IDS.length);

  /** An Allocate that waits for its plugin while a successor takes over; it goes on with `goOn`. */
  const takeOverWithin = async (key: string) => {
    held = new Promise((resolve) => (goOn = resolve));
    const asked = plugin.count('Allocate');
    const asking = client.one(GPU, { key });
    asking.catch(() => undefined); // until somebody looks at it
    await eventually('the plugin is asked', () => plugin.count('Allocate') > asked);
    held = undefined;
    const old = broker.pid;
    const taken = broker.start({ args: ['--takeover'] });
    await eventually('the one that asked is stopping', async () => {
      const { pid, phase } = (await broker.status()).broker;
      return pid === old && phase === 'stopping';
    });
    return { asking, taken };
  };

  it('an Allocate that its plugin answers while a successor takes over is given, and known to the successor', async () => {
    const { asking, taken } = await takeOverWithin('mid');
    goOn();
    const lease = await asking;
    await taken;
    await ready();
    const asked = plugin.count('Allocate');
    assert.deepEqual(
      (await client.list()).map(({ id, granted }) => [id, granted]),
      [[lease.id, lease.granted]],
    );
    assert.equal((await client.one(GPU, { key: 'mid' })).id, lease.id, 'the same key is the same lease');
    assert.equal(plugin.count('Allocate'), asked, 'whose answer is known');
    await client.release({ key: 'mid' });
  });

  it('an Allocate that its plugin does not answer before a successor takes over was never made', async () => {
    const { asking, taken } = await takeOverWithin('never');
    await assert.rejects(asking, { code: status.UNAVAILABLE }, 'worth another try');
    await taken;
    await ready();
    assert.deepEqual(await client.list(), []);
    goOn(); // the answer reaches nobody
    const asked = plugin.count('Allocate');
    const lease = await client.one(GPU, { key: 'never' });
    assert.equal(plugin.count('Allocate'), asked + 1, 'the plugin is asked anew');
    assert.deepEqual(
      (await client.list()).map(({ id }) => id),
      [lease.id],
    );
    await client.release({ key: 'never' });
  });

  it('run goes on over a kill -9 of the broker, attaches to the next one, and its lease ends with it', async () => {
    const args = ['run', '--root', broker.root, '--device', GPU, '--', 'sleep', '600'];
    const owner = startCommand(process.execPath, [distFile(), ...args]);
    running.push(owner);
    const lease = await eventually('it has a device', async () => (await client.list())[0]);
    await broker.end('SIGKILL');
    await broker.start();
    await ready();
    const again = await eventually('it is known', async () => (await client.list())[0]);
    assert.deepEqual([again.id, again.state, again.granted], [lease.id, 'active', lease.granted]);
    const [sick = ''] = lease.granted[0]?.ids ?? [];
    // Told on the stream that run opened to this broker.
    const states = async (): Promise<string[]> => (await client.list()).map(({ state }) => state);
    const hears = (): boolean => owner.stderr().includes(`${sick} of ${GPU} is Unhealthy`);
    await eventually('run hears of it', async () => {
      plugin.setDevices(IDS.map((id) => ({ id, health: id === sick ? 'Unhealthy' : 'Healthy' })));
      await eventually('it is impaired', async () => (await states()).join() === 'impaired');
      // News of one lease are a second apart, and the newest counts; a later follower is told of the next ones.
      await eventually('it is told', hears, { withinMs: 3_000 }).catch(() => undefined);
      plugin.setDevices(healthy(...IDS));
      await eventually('it is whole', async () => (await states()).join() === 'active');
      return hears();
    });
    owner.child.kill('SIGKILL');
    await eventually('its device is free', async () => (await client.list()).length === 0);
  });

  it('a client that floods is refused with a time, and is served when that is over', async () => {
    const flood = await Promise.all(
      Array.from({ length: 100 }, (_, nth) => refusalOf(client.one(GPU, { key: `f${String(nth % 2)}` }))),
    );
    const codes = new Set(flood);
    assert.ok(codes.has('given') && codes.has('FLOOD_ALLOCATE'), [...codes].join(' '));
    assert.ok((await client.list()).length <= 2);
    await eventually('it is served', async () => (await refusalOf(client.one(GPU, { key: 'f0' }))) === 'given');
    for (const { id } of await client.list()) await client.release({ id });
    const limits = await broker.admin.limits('');
    assert.ok(limits.some(({ limit, exceeded }) => limit === 'allocate' && exceeded > 0));
  });

  it('bytes that are no request are refused, and those that are no HTTP/2 end their connection; leases are not touched', async () => {
    const kept = await client.one(GPU, { key: 'kept' });
    const raw = new Client(`unix:${socket}`, credentials.createInsecure());
    const send = (method: string, bytes: Buffer): Promise<string> =>
      new Promise((resolve) => {
        const asItIs = (value: Buffer): Buffer => value;
        raw.makeUnaryRequest(method, asItIs, asItIs, bytes, (failure: ServiceError | null) =>
          resolve(failure === null ? 'ok' : (failure.details.split(':')[0] ?? '')),
        );
      });
    for (const bytes of [
      Buffer.from([0xff]),
      Buffer.from([0x0a, 0x7f, 0x01]),
      Buffer.from([0x1a, 0x02, 0xc3, 0x28]), // a key that is not UTF-8
      Buffer.alloc(1000, 0x0a),
    ]) {
      assert.equal(await send(allocatorService.Allocate.path, bytes), 'WANT_INVALID', bytes.toString('hex'));
    }
    assert.notEqual(await send(allocatorService.Allocate.path, Buffer.alloc(100_000)), 'ok');
    raw.close();
    for (const bytes of [Buffer.alloc(100, 0), Buffer.from('GET / HTTP/1.1\r\n\r\n'), Buffer.from('PRI * HTTP/2.0')]) {
      const peer = connect(socket);
      peer.on('error', () => undefined);
      peer.resume();
      peer.write(bytes);
      await new Promise((resolve) => peer.once('close', resolve));
    }
    assert.deepEqual(
      (await client.list()).map(({ id }) => id),
      [kept.id],
    );
    await client.release({ key: 'kept' });
  });

  for (const { name, code, run } of ATTACKS.filter(({ guard }) => guard === undefined).slice(0, 8))
    it(`${name} at alloc.sock is cut off (${code}), and others are served meanwhile`, async () => {
      const attacking = run(socket);
      const lease = await client.one(GPU, { key: 'beside' });
      const attacker = await attacking;
      attacker.socket.resume();
      await attacker.closed();
      assert.deepEqual(
        (await client.list()).map(({ id }) => id),
        [lease.id],
      );
      await client.release({ key: 'beside' });
    });
});
