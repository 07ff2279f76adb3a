import assert from 'node:assert/strict';
import { connect } from 'node:net';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Client, credentials, type ServiceError } from '@grpc/grpc-js';
import { allocatorService } from '../../src/generated/proto/pluginbroker/v1/allocator.js';
import { AllocClient, refusalOf } from '../support/alloc-client.js';
import { BrokerProcess } from '../support/broker-process.js';
import { distFile } from '../support/dist.js';
import { eventually } from '../support/eventually.js';
import { FakePlugin, healthy } from '../support/fake-plugin.js';
import { ATTACKS } from '../support/http2/attacks.js';
import { startCommand } from '../support/program.js';
import { tempDir } from '../support/temp-dir.js';

const GPU = 'vendor.com/gpu';
const IDS = ['gpu-0', 'gpu-1', 'gpu-2', 'gpu-3'];

describe('alloc.sock through the lives of a broker', { timeout: 120_000 }, () => {
  let broker: BrokerProcess;
  let plugin: FakePlugin;
  let client: AllocClient;
  let socket = '';
  /** Allocate waits for it. */
  let held: Promise<void> | undefined;

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
  after(async () => {
    client.close();
    await plugin.stop();
    await broker.close();
  });

  const ready = (): Promise<unknown> =>
    eventually('its plugin is back', async () => (await broker.allocatable(GPU)) === IDS.length);

  it('a takeover in the middle of an Allocate: it is given and known to the successor, or it was never made', async () => {
    let goOn = (): void => undefined;
    held = new Promise((resolve) => (goOn = resolve));
    const before = plugin.count('Allocate');
    const asked = refusalOf(client.one(GPU, { key: 'mid' }));
    await eventually('the plugin is asked', () => plugin.count('Allocate') > before);
    const taken = broker.start({ args: ['--takeover'] });
    goOn();
    held = undefined;
    const code = await asked;
    await taken;
    await ready();
    assert.ok(['given', 'ALLOCATOR_STOPPING'].includes(code) || code.startsWith('status'), code);
    const known = await client.list();
    if (code === 'given') assert.equal(known.length, 1);
    const lease = await client.one(GPU, { key: 'mid' });
    assert.deepEqual(
      (await client.list()).map(({ id }) => id),
      [known[0]?.id ?? lease.id],
      'the same key is one lease, whoever answers',
    );
    await client.release({ key: 'mid' });
  });

  it('run goes on over a kill -9 of the broker, attaches to the next one, and its lease ends with it', async () => {
    const args = ['run', '--root', broker.root, '--device', GPU, '--', 'sleep', '600'];
    const running = startCommand(process.execPath, [distFile(), ...args]);
    const lease = await eventually('it has a device', async () => (await client.list())[0]);
    await broker.end('SIGKILL');
    await broker.start();
    await ready();
    const again = await eventually('it is known', async () => (await client.list())[0]);
    assert.deepEqual([again.id, again.state, again.granted], [lease.id, 'active', lease.granted]);
    const [sick = ''] = lease.granted[0]?.ids ?? [];
    // Told on the stream that run opened to this broker.
    const states = async (): Promise<string[]> => (await client.list()).map(({ state }) => state);
    const hears = (): boolean => running.stderr().includes(`${sick} of ${GPU} is Unhealthy`);
    await eventually('run hears of it', async () => {
      plugin.setDevices(IDS.map((id) => ({ id, health: id === sick ? 'Unhealthy' : 'Healthy' })));
      await eventually('it is impaired', async () => (await states()).join() === 'impaired');
      // News of one lease are a second apart, and the newest counts; a later follower is told of the next ones.
      await eventually('it is told', hears, { withinMs: 3_000 }).catch(() => undefined);
      plugin.setDevices(healthy(...IDS));
      await eventually('it is whole', async () => (await states()).join() === 'active');
      return hears();
    });
    running.child.kill('SIGKILL');
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
