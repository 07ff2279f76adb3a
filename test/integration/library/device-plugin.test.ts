import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { after, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { inspect } from 'node:util';
import { status } from '@grpc/grpc-js';
import { serveDevicePlugin } from '../../../src/device-plugin/serve-device-plugin.js';
import type {
  Device,
  DevicePluginEvent,
  DevicePluginOptions,
  DevicePluginServer,
} from '../../../src/device-plugin/plugin-api.js';
import { devicePluginService } from '../../../src/generated/proto/deviceplugin/v1beta1/deviceplugin.js';
import { verifyPlugin } from '../../../src/verify/verify-plugin.js';
import { eventually } from '../../support/eventually.js';
import { exampleOf, projectWith } from '../../support/examples.js';
import { AllocateCaller } from '../../support/front-caller.js';
import { FrontWorld } from '../../support/front-world.js';
import { startCommand } from '../../support/program.js';
import { tempDir } from '../../support/temp-dir.js';
import { TestRegistry } from '../sim/test-registry.js';

/** The resource of the README's plugin. */
const RESOURCE = 'vendor.example/gpu';

const readmePlugin = (): string => {
  const code = exampleOf('README.md', 'plugin.mjs');
  return path.join(projectWith({ 'plugin.mjs': code }), 'plugin.mjs');
};

describe('a device plugin of the library', { timeout: 120_000 }, () => {
  const opened: { stop(): Promise<void> }[] = [];
  const world = new FrontWorld();
  after(async () => {
    for (const one of opened) await one.stop();
    await world.close();
  });
  const serve = async (options: Partial<DevicePluginOptions>): Promise<[DevicePluginServer, DevicePluginEvent[]]> => {
    const told: DevicePluginEvent[] = [];
    const plugin = await serveDevicePlugin({
      ...{ resource: RESOURCE, devices: [{ id: 'a' }], on: (event) => void told.push(event), retry: { maxMs: 200 } },
      ...options,
    });
    opened.push(plugin);
    return [plugin, told];
  };

  it('of the README runs behind the broker and past it, unchanged', async () => {
    const file = readmePlugin();
    await world.kubelet.start();
    await world.broker.start();
    for (const directory of [world.broker.devicePlugins, world.kubelet.devicePlugins]) {
      const plugin = startCommand(process.execPath, [file, directory]);
      await world.listed(2, RESOURCE);
      const pod = `p${String(opened.length)}`;
      await world.pod(pod, 1, RESOURCE);
      world.kubelet.delete(pod);
      plugin.child.kill('SIGTERM');
      const { code, stderr } = await plugin.ended;
      assert.equal(code, 0, stderr);
      await world.listed(0, RESOURCE);
      opened.push({ stop: () => Promise.resolve() });
      // A kubelet cuts off the newest client of a resource when an older stream ends: none of the broker's may be open.
      await world.kubelet.restart();
    }
  });

  it('passes scenarios of verify from a program, which hears of each', async () => {
    const kinds = new Set<string>();
    const { passed, results } = await verifyPlugin({
      command: [process.execPath, readmePlugin(), '{devicePlugins}'],
      scenarios: ['first-list', 'unlink-only'],
      on: ({ kind, resources, door }) => {
        if (kinds.size === 0) assert.deepEqual([kind, resources, door], ['run', [RESOURCE], 'register']);
        kinds.add(kind);
      },
    });
    assert.deepEqual([passed, results.map(({ verdict }) => verdict)], [true, ['passed', 'passed']]);
    assert.ok(kinds.has('verdict') && kinds.has('call'), [...kinds].join());
    await assert.rejects(verifyPlugin({ command: ['true'], scenarios: ['nonsense'] }), TypeError);
  });

  it('waits in the watched directory when its door is the watcher', async () => {
    const [plugin] = await serve({ resource: 'vendor.example/w', door: 'watcher', directory: world.broker.registry });
    await plugin.registered;
    await world.listed(1, 'vendor.example/w');
    await plugin.stop();
    assert.ok(!existsSync(plugin.socket));
  });

  it('takes lists from where they come, no equal ones, and says goodbye at their end', async () => {
    const lists = new PassThrough({ objectMode: true });
    lists.write([{ id: 'a' }]);
    const [plugin, told] = await serve({
      ...{
        resource: 'vendor.example/lists',
        directory: world.broker.devicePlugins,
        devices: () => lists as AsyncIterable<readonly Device[]>,
      },
    });
    await world.listed(1, 'vendor.example/lists');
    lists.write([{ id: 'a' }]);
    lists.write([{ id: 'a' }, { id: 'b', numaNodes: [0] }]);
    await world.listed(2, 'vendor.example/lists');
    lists.end();
    await eventually('it has stopped', () => plugin.state === 'stopped');
    const lengths = told.flatMap((event) => (event.kind === 'list' ? [event.devices] : []));
    assert.deepEqual(lengths, [1, 2]);
  });

  it('answers the call that is under way when it stops', async () => {
    let [isAsked, goOn] = [false, (): void => undefined];
    const [plugin] = await serve({
      resource: 'vendor.example/last',
      directory: world.broker.devicePlugins,
      allocate: () => {
        isAsked = true;
        return new Promise((resolve) => (goOn = () => resolve({ containers: [{ envs: { LAST: 'a' } }] })));
      },
    });
    const caller = new AllocateCaller(plugin.socket);
    const asking = caller.allocate(['a']);
    asking.catch(() => undefined); // until it is awaited
    await eventually('it is asked', () => isAsked);
    const stopping = plugin.stop();
    await eventually('its socket has gone', () => !existsSync(plugin.socket));
    goOn();
    assert.match(inspect(await asking, { depth: 4 }), /LAST/);
    await stopping;
    caller.close();
  });

  it('stops although a registry that is frozen does not read its goodbye', async (t) => {
    const devices = Array.from({ length: 4000 }, (_, nth) => ({ id: `${'d'.repeat(50)}${nth}` }));
    const [plugin] = await serve({ resource: 'vendor.example/many', directory: world.broker.devicePlugins, devices });
    const session = connectHttp2('http://localhost', { createConnection: () => connect(plugin.socket) });
    session.on('error', () => undefined);
    t.after(() => session.destroy());
    const { path: method } = devicePluginService.ListAndWatch;
    const stream = session.request({
      ':method': 'POST',
      ':path': method,
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    stream.on('error', () => undefined);
    stream.end(Buffer.alloc(5));
    await once(stream, 'response'); // and nothing of the list is read
    await plugin.stop();
    assert.ok(!existsSync(plugin.socket));
  });

  it('refuses an Allocate whose answer by its author is none, and says what is missing', async () => {
    const answers = [{}, { containers: [] }];
    const [plugin] = await serve({
      resource: 'vendor.example/odd',
      directory: world.broker.devicePlugins,
      allocate: () => answers.shift() as never,
    });
    const caller = new AllocateCaller(plugin.socket);
    await assert.rejects(caller.allocate(['a']), /without its list `containers`/);
    await assert.rejects(caller.allocate(['a']), /answered for 0 containers and was asked for 1/);
    assert.match(
      inspect(await caller.allocate(['a']), { depth: 4 }),
      /containerResponses/,
      'no answer is an empty one',
    );
    caller.close();
  });

  it('waits ten minutes at most when a refusal names a time that no timer can hold', async () => {
    const directory = tempDir();
    const registry = await TestRegistry.start(directory);
    opened.push(registry);
    const far = { code: status.RESOURCE_EXHAUSTED, details: 'come back next year', retryAfterMs: 4_000_000_000 };
    registry.verdict = (nth) => (nth === 1 ? far : undefined);
    const [plugin, told] = await serve({ directory });
    await eventually('it is refused', () => plugin.state === 'refused');
    const waits = told.flatMap((event) => (event.kind === 'refused' ? [event.retryInMs] : []));
    await registry.serve();
    await plugin.registered;
    assert.deepEqual([waits, registry.requests.length], [[600_000], 2], 'a new kubelet.sock is no reason to wait');
  });

  it('serves again when what stood at the name of its socket for a moment has gone', async () => {
    const directory = tempDir();
    const [plugin, told] = await serve({ directory, socketName: 'own.sock', retry: { firstMs: 1, maxMs: 1 } });
    rmSync(plugin.socket);
    mkdirSync(plugin.socket);
    await eventually('it has told what is in the way', () => told.some(({ kind }) => kind === 'error'));
    rmSync(plugin.socket, { recursive: true });
    await eventually('it serves', () => existsSync(plugin.socket) && plugin.state === 'serving');
    const messages = told.flatMap((event) => (event.kind === 'error' ? [event.error.message] : []));
    assert.deepEqual(messages, [`cannot listen on ${plugin.socket}: it is not a socket`]);
    mkdirSync(path.join(directory, 'taken'));
    await assert.rejects(serve({ directory, socketName: 'taken' }), /taken: it is not a socket/, 'it never served');
  });

  it('serves on without its socket for a while where somebody removes it again and again, until kubelet.sock is new', async () => {
    const directory = tempDir();
    const registry = await TestRegistry.start(directory);
    opened.push(registry);
    const [plugin, told] = await serve({ directory, socketName: 'own.sock' });
    await plugin.registered;
    const isBack = (): boolean => existsSync(plugin.socket) && plugin.state === 'registered';
    const losses = (): number =>
      told.filter((event) => event.kind === 'registry-event' && event.what === 'socket-gone').length;
    for (let nth = 1; nth <= 5; nth += 1) {
      await eventually('it is registered', isBack);
      rmSync(plugin.socket);
      await eventually('it has noticed', () => losses() >= nth);
    }
    assert.deepEqual([existsSync(plugin.socket), plugin.state, registry.requests.length], [false, 'registered', 5]);
    await registry.serve();
    await eventually('it serves', isBack);
    assert.equal(registry.requests.length, 6);
  });

  it('does so at the watcher door, too, and where it was refused', async () => {
    const refusals = tempDir();
    const refusing = await TestRegistry.start(refusals);
    opened.push(refusing);
    refusing.verdict = () => ({ code: status.FAILED_PRECONDITION, details: 'no' });
    for (const [directory, more] of [
      [tempDir(), { door: 'watcher' }],
      // The pause is any part of that: of an hour hardly one is over while the test looks.
      [refusals, { retry: { firstMs: 3_600_000, maxMs: 3_600_000 } }],
    ] as readonly [string, Partial<DevicePluginOptions>][]) {
      const [plugin] = await serve({ directory, socketName: 'own.sock', ...more });
      if (more.door === undefined) await eventually('it is refused', () => plugin.state === 'refused');
      let removed = 0;
      for (; removed < 20 && existsSync(plugin.socket); removed += 1) {
        rmSync(plugin.socket);
        // Half of the pause that it makes: it is back before, or it pauses.
        for (const until = performance.now() + 1500; performance.now() < until && !existsSync(plugin.socket);)
          await pause(5);
      }
      // One that is removed in the moment in which it is bound is none that it lost.
      assert.ok(
        more.door === undefined ? removed === 1 : removed >= 5 && removed < 20,
        `removed ${String(removed)} times`,
      );
      await plugin.stop();
    }
  });

  it('leaves nothing of a socket behind when it serves on the next one', async (t) => {
    const warned: string[] = [];
    const onWarning = ({ name }: Error): void => void warned.push(name);
    process.on('warning', onWarning);
    t.after(() => process.off('warning', onWarning));
    const [plugin] = await serve({ directory: tempDir(), socketName: 'own.sock', retry: { firstMs: 1, maxMs: 1 } });
    for (let nth = 0; nth < 15; nth += 1) {
      rmSync(plugin.socket);
      await eventually('it serves', () => existsSync(plugin.socket) && plugin.state === 'serving');
    }
    await plugin.stop();
    assert.deepEqual(warned, []);
  });

  it('tells the error that ended it after it served', async () => {
    const directory = tempDir();
    const told: string[] = [];
    const options = {
      resource: RESOURCE,
      directory,
      devices: [],
      on: (event: DevicePluginEvent): void => {
        if (event.kind === 'error') told.push(`${event.error.message}, ${plugin.state}`);
      },
      /** Of the author, and the second one fails. */
      get socketName(): string {
        if (existsSync(path.join(directory, 'once'))) throw new Error('no name is left');
        writeFileSync(path.join(directory, 'once'), '');
        return 'own.sock';
      },
    };
    const plugin = await serveDevicePlugin(options);
    opened.push(plugin);
    rmSync(plugin.socket);
    await eventually('it is over', () => plugin.state === 'stopped');
    await eventually('it has told why', () => told.length > 0);
    assert.deepEqual(told, ['no name is left, stopped']);
  });

  it('serves without a registry, waits for its directory, and leaves nothing', async () => {
    const directory = path.join(tempDir(), 'later');
    const calledOff = new AbortController();
    const codes: unknown[] = [];
    const on = (event: DevicePluginEvent): void => {
      if (event.kind === 'error') codes.push((event.error as NodeJS.ErrnoException).code);
    };
    const starting = serve({ directory, signal: calledOff.signal, on, retry: { firstMs: 1, maxMs: 1 } });
    await eventually('it has told why', () => codes.length > 0);
    await pause(300); // it tries again meanwhile, and has nothing new to tell
    writeFileSync(directory, '');
    await eventually('it has told the other reason', () => codes.length > 1);
    rmSync(directory);
    mkdirSync(directory);
    const [plugin] = await starting;
    assert.deepEqual([...new Set(codes)], codes, 'one reason is told once');
    assert.equal(plugin.state, 'serving');
    plugin.registered.catch(() => undefined);
    await assert.rejects(serveDevicePlugin({ resource: 'nonsense', devices: [], directory }), TypeError);
    assert.throws(() => plugin.setHealth('nobody', 'Healthy'), RangeError);
    assert.throws(() => plugin.setDevices([{ id: 'a' }, { id: 'a' }]), TypeError);
    calledOff.abort();
    await eventually('it has stopped', () => plugin.state === 'stopped' && readdirSync(directory).length === 0);
    await assert.rejects(plugin.registered, /stopped before/);
  });
});
