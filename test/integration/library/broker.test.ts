import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, it } from 'node:test';
import { startBroker } from '../../../src/library/start-broker.js';
import { serveDevicePlugin } from '../../../src/device-plugin/serve-device-plugin.js';
import { BrokerError, type Broker, type WaitError } from '../../../src/library/broker-api.js';
import type { DevicePluginServer } from '../../../src/device-plugin/plugin-api.js';
import { eventually } from '../../support/eventually.js';
import { startCommand, type Running } from '../../support/program.js';
import { tempDir } from '../../support/temp-dir.js';

const RESOURCE = 'vendor.example/gpu';
const PATIENT = { timeoutMs: 30_000 };

const isAlive = (pid: number): boolean => existsSync(`/proc/${String(pid)}`);
const codeOf = async (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'it worked',
    (thrown: unknown) => (thrown instanceof BrokerError ? thrown.code : String(thrown)),
  );

describe('a broker that a program started', () => {
  const opened: { stop(): Promise<void> }[] = [];
  afterEach(async () => {
    for (const one of opened.splice(0).reverse()) await one.stop();
  });
  const broker = async (options: Parameters<typeof startBroker>[0] = {}): Promise<Broker> => {
    const started = await startBroker({ ...PATIENT, ...options });
    opened.push(started);
    return started;
  };
  const plugin = async (
    { paths }: Broker,
    options: Partial<Parameters<typeof serveDevicePlugin>[0]> = {},
  ): Promise<DevicePluginServer> => {
    const served = await serveDevicePlugin({
      ...{ resource: RESOURCE, directory: paths.devicePlugins, devices: [{ id: 'a' }, { id: 'b' }] },
      ...options,
    });
    opened.push(served);
    return served;
  };

  it('takes a plugin in, tells what is asked, and keeps its resource through a kill -9', async () => {
    const one = await broker();
    assert.ok(Buffer.byteLength(one.root) <= 60, one.root);
    const seen: string[] = [];
    one.on('phase', (phase) => seen.push(phase));
    const served = await plugin(one);
    await served.registered;
    const { capacity, allocatable } = await one.waitForResource(RESOURCE, { state: 'ready', allocatable: 2 });
    assert.deepEqual([capacity, allocatable], [2, 2]);
    const recording = one.record(RESOURCE);
    const [first] = await one.plugins(RESOURCE);
    assert.deepEqual([first?.state, first?.socket], ['ready', served.socket]);
    assert.equal((await one.status()).broker.pid, one.pid);
    const before = one.pid;
    await one.restart('kill');
    assert.notEqual(one.pid, before);
    await one.waitForPlugin(RESOURCE);
    await one.waitForResource(RESOURCE, { state: 'ready', allocatable: 2 });
    assert.equal(recording.lowest, 2, JSON.stringify(recording.samples));
    await one.waitForEvent({ type: 'registered', plugin: RESOURCE });
    assert.ok(seen.includes('ready'), seen.join());
  });

  it('restarted by a kill as soon as devices are there, keeps them: the served state is on its disk by then', async () => {
    const one = await broker();
    for (const resource of ['vendor.example/a', 'vendor.example/b', 'vendor.example/c']) {
      await plugin(one, { resource });
      await one.waitForResource(resource, { allocatable: 2 });
      const recording = one.record(resource);
      await one.restart('kill');
      await one.waitForPlugin(resource);
      assert.equal(recording.lowest, 2, JSON.stringify(recording.samples));
    }
  });

  it('does to plugins what registries do: sockets, directories and streams go and come, calls are refused and held', async () => {
    const one = await broker();
    const told: string[] = [];
    const refused = one.refuse({ plugin: RESOURCE, times: 1, retryAfterMs: 50 });
    const served = await plugin(one, { on: ({ kind }) => told.push(kind), retry: { maxMs: 250 } });
    await served.registered;
    assert.ok(told.includes('refused'), told.join());
    refused[Symbol.dispose]();
    await one.waitForResource(RESOURCE, { allocatable: 2 });
    await one.breakStreams(RESOURCE);
    await one.recreateKubeletSocket();
    const { socket } = served;
    await one.recreateDirectory();
    await eventually('it has a new socket', () => served.socket !== socket && served.state === 'registered');
    served.setHealth('a', 'Unhealthy');
    await one.waitForResource(RESOURCE, { allocatable: 1 });
    assert.equal(await codeOf(one.breakStreams('vendor.example/other')), 'NOT_FOUND');
    const held = one.delayAnswers(300);
    const slow = await plugin(one, { resource: 'vendor.example/slow', on: (event) => told.push(event.kind) });
    const from = performance.now();
    await slow.registered;
    assert.ok(performance.now() - from > 200);
    held[Symbol.dispose]();
  });

  it('rejects a wait that is in vain with what is known of it, and questions while it does not run', async () => {
    const one = await broker();
    await plugin(one);
    await one.waitForResource(RESOURCE);
    for (const timeoutMs of [0, 1, 2]) {
      assert.equal(await codeOf(one.waitForEvent({ type: 'quarantine' }, { timeoutMs })), 'TIMEOUT', String(timeoutMs));
    }
    const vain = one.waitForResource(RESOURCE, { allocatable: 7 }, { timeoutMs: 50 });
    await assert.rejects(vain, (thrown: WaitError) => {
      assert.deepEqual([thrown.code, thrown.explain?.state], ['TIMEOUT', 'ready']);
      assert.match(thrown.message, /not within 0\.05 s: the resource .*\n.*is ready \(/);
      return thrown.events.length > 0;
    });
    assert.equal(await codeOf(one.explain('vendor.example/nobody')), 'NOT_FOUND');
    await one.kill();
    assert.equal(await codeOf(one.status()), 'NOT_RUNNING');
    await one.stop();
    assert.equal(await codeOf(one.start()), 'NOT_RUNNING');
  });

  it('serves HTTP where it is told to, and takes its configuration as the file has it', async () => {
    const keys = { http: { listen: '127.0.0.1:0' }, log: { level: 'error' }, grace: { device: '1s' } };
    const one = await broker({ config: keys });
    assert.ok(one.url !== undefined, 'the address is known at once');
    assert.equal((await fetch(new URL('/healthz', one.url))).status, 200);
    const { url: before } = one;
    await one.restart('kill');
    assert.ok(one.url instanceof URL && one.url.href !== before.href);
    const taken = await broker({ config: { http: { listen: one.url.host } } });
    assert.equal(taken.url, undefined);
    assert.equal((await taken.status()).broker.phase, 'degraded');
  });

  it('serves no HTTP where only other keys of that section say something, and keeps CDI files below the root', async () => {
    const root = tempDir();
    await broker({
      root,
      config: { http: { listen: undefined, page: 'off' }, cdi: { dir: undefined, kind: 'vendor.example/lease' } },
    });
    const written: unknown = JSON.parse(readFileSync(path.join(root, '.library-config.json'), 'utf8'));
    assert.deepEqual(written, {
      http: { listen: 'off', page: 'off' },
      cdi: { dir: 'cdi', kind: 'vendor.example/lease' },
    });
    const wrong = startBroker({ ...PATIENT, config: { http: 'off' } });
    assert.equal(await codeOf(wrong), 'CONFIG_INVALID');
  });

  it('is asked and reached where the keys of its paths say', async () => {
    const elsewhere = tempDir();
    const paths = { devicePlugins: path.join(elsewhere, 'dp'), pluginsRegistry: 'reg', brokerSocket: 'b.sock' };
    const one = await broker({ config: { paths } });
    assert.deepEqual(one.paths, {
      devicePlugins: paths.devicePlugins,
      kubeletSocket: path.join(paths.devicePlugins, 'kubelet.sock'),
      registry: path.join(one.root, 'reg'),
      plugins: path.join(one.root, 'plugins'),
      adminSocket: path.join(one.root, 'b.sock'),
    });
    await plugin(one);
    assert.equal((await one.waitForResource(RESOURCE, { allocatable: 2 })).state, 'ready');
    await one.kill();
    await one.start({ config: { paths: { ...paths, brokerSocket: 'later.sock' } } });
    assert.equal(one.paths.adminSocket, path.join(one.root, 'later.sock'));
    await one.waitForResource(RESOURCE, { allocatable: 2 }, { timeoutMs: 5_000 });
  });

  it('leaves nothing behind: after a failed start, a start that is called off, a double stop', async () => {
    const before = process.env['TMPDIR'];
    const own = tempDir();
    process.env['TMPDIR'] = own;
    try {
      await assert.rejects(
        startBroker({ ...PATIENT, config: { flood: { mode: 'sometimes' } } }),
        (thrown: BrokerError) => {
          assert.equal(thrown.code, 'CONFIG_INVALID');
          return /flood\.mode/.test(thrown.problems.join('\n'));
        },
      );
      const calledOff = new AbortController();
      const starting = startBroker({ ...PATIENT, signal: calledOff.signal });
      setTimeout(() => calledOff.abort(new Error('enough')), 20);
      await assert.rejects(starting, /enough/);
      const one = await startBroker(PATIENT);
      const { pid = 0 } = one;
      await Promise.all([one.stop(), one.stop()]);
      await one.stop();
      assert.ok(!isAlive(pid));
      const two = await startBroker(PATIENT);
      const restarting = two.restart('clean');
      const { pid: last = 0 } = two;
      await two.stop(); // while the life before is ending
      await assert.rejects(restarting, { code: 'NOT_RUNNING' });
      assert.ok(!isAlive(last));
      assert.deepEqual(readdirSync(own), []);
    } finally {
      if (before === undefined) delete process.env['TMPDIR'];
      else process.env['TMPDIR'] = before;
    }
  });

  for (const [how, what] of [
    ['wait', 'is killed'],
    ['end', 'ends without a stop'],
    ['stop', 'ends after a stop'],
  ] as const) {
    it(`leaves nothing behind when the program ${what}`, async () => {
      const user: Running = startCommand(process.execPath, [
        path.join(import.meta.dirname, '..', '..', 'support', 'library-user-process.js'),
        how,
      ]);
      const { pid, root } = await eventually(
        'it has started a broker',
        () => {
          const [line = ''] = user.stdout().split('\n');
          return line === '' ? undefined : (JSON.parse(line) as { pid: number; root: string });
        },
        { withinMs: 30_000 },
      );
      if (how === 'wait') user.child.kill('SIGKILL');
      const { code, stderr } = await user.ended;
      assert.equal(code, how === 'wait' ? null : 0, stderr);
      await eventually('broker and root are gone', () => !isAlive(pid) && !existsSync(root), { withinMs: 30_000 });
    });
  }
});
