import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { Client, credentials } from '@grpc/grpc-js';
import { removeTree } from '../../../src/platform/fs/remove-tree.js';
import { loadPluginApi, PluginClient } from '../../../src/sim/kubelet/plugin-client.js';
import { loadServices } from '../../../src/sim/protos.js';
import { eventually } from '../../support/eventually.js';
import { KubeletProcess } from '../../support/kubelet-process.js';
import { run } from '../../support/program.js';
import { tempDir } from '../../support/temp-dir.js';
import { RunningSim } from '../../support/running-sim.js';

const RESOURCE = 'example.com/sim';

describe('a simulated kubelet', { timeout: 60_000 }, () => {
  const open: (() => Promise<unknown>)[] = [];
  after(async () => {
    for (const close of open.reverse()) await close();
  });
  const newKubelet = (root = tempDir()): KubeletProcess => {
    const kubelet = new KubeletProcess(root);
    open.push(() => kubelet.end('SIGKILL'));
    return kubelet;
  };
  const newPlugin = (kubelet: KubeletProcess, given: ConstructorParameters<typeof RunningSim>[1] = {}): RunningSim => {
    const plugin = new RunningSim(kubelet.devicePlugins, { registry: kubelet.registry, ...given });
    open.push(() => plugin.stop());
    return plugin;
  };

  it('admits a pod once its resource is listed, and gives it what the plugin answered', async () => {
    const kubelet = newKubelet();
    await kubelet.start();
    newPlugin(kubelet, { devices: 2, preStart: true, preferredAllocation: true });
    await kubelet.saw('list', RESOURCE);
    kubelet.create('p', { [RESOURCE]: 2, 'example.com/unknown': 1 });
    const { envs, devices } = await kubelet.saw('container-started', 'p');
    assert.deepEqual(devices, { [RESOURCE]: ['dev-0', 'dev-1'] });
    assert.deepEqual(Object.values(envs as object), ['dev-0,dev-1']);
    kubelet.create('q', { [RESOURCE]: 1 });
    const { message } = await kubelet.saw('rejected', 'q');
    assert.match(String(message), /^Pod was rejected: Allocate failed due to requested number of devices unavailable/);
    const text = readFileSync(path.join(kubelet.devicePlugins, 'kubelet_internal_checkpoint'), 'utf8');
    assert.match(text, /"ContainerName":"c","ResourceName":"example.com\/sim"/);
  });

  it('wipes everything but directories and its checkpoint when it starts, and leaves its socket when it ends', async () => {
    const kubelet = newKubelet();
    const dir = kubelet.devicePlugins;
    mkdirSync(path.join(dir, 'sub'), { recursive: true });
    writeFileSync(path.join(dir, 'sub', 'kept'), '');
    writeFileSync(path.join(dir, '.hidden'), '');
    symlinkSync('sub', path.join(dir, 'link'));
    await kubelet.start();
    assert.deepEqual(readdirSync(dir).sort(), ['kubelet.sock', 'sub']);
    assert.equal(existsSync(path.join(dir, 'sub', 'kept')), true);
    await kubelet.end();
    assert.equal(existsSync(kubelet.socket), true);
  });

  it('fails a pod of before for good when its plugin is late after a reboot, and keeps one whose container runs', async () => {
    const kubelet = newKubelet();
    await kubelet.start();
    const plugin = newPlugin(kubelet, { watch: ['never'] });
    await kubelet.saw('list', RESOURCE);
    kubelet.create('p', { [RESOURCE]: 1 });
    await kubelet.saw('container-started', 'p');
    await plugin.stop();
    await kubelet.restart();
    await kubelet.saw('admitted', 'p', 2);
    assert.equal(kubelet.of('container-started', 'p').length, 1);
    await kubelet.restart('--reboot');
    const { message } = await kubelet.saw('rejected', 'p');
    assert.match(String(message), /no healthy devices present; cannot allocate unhealthy devices example.com\/sim/);
    newPlugin(kubelet);
    await kubelet.saw('list', RESOURCE, 2);
    assert.equal(kubelet.of('container-started', 'p').length, 1);
  });

  it('dials what is in the registry when it starts and within a second later, and forgets it when the entry goes', async () => {
    const kubelet = newKubelet();
    mkdirSync(kubelet.registry, { recursive: true });
    const plugin = newPlugin(kubelet, { door: 'watcher', watch: ['never'] });
    const { socket } = await plugin.saw('serving');
    await kubelet.start('--admit-after', '1s');
    assert.equal((await kubelet.saw('registered', RESOURCE))['door'], 'registry');
    await kubelet.saw('list', RESOURCE);
    rmSync(String(socket));
    assert.match(String((await kubelet.saw('disconnected', RESOURCE))['why']), /entry in the registry is gone/);
  });

  it('writes its checkpoint through no link, and reads nothing but a file, where others may write the directory', async () => {
    const kubelet = newKubelet();
    const checkpoint = path.join(kubelet.devicePlugins, 'kubelet_internal_checkpoint');
    mkdirSync(kubelet.devicePlugins, { recursive: true });
    execFileSync('mkfifo', [checkpoint]);
    await kubelet.start();
    const victim = path.join(kubelet.root, 'victim');
    writeFileSync(victim, 'kept');
    symlinkSync(victim, `${checkpoint}.new`);
    newPlugin(kubelet);
    await kubelet.saw('list', RESOURCE);
    await eventually('there is a checkpoint', () => lstatSync(checkpoint).isFile());
    assert.match(readFileSync(checkpoint, 'utf8'), /"RegisteredDevices":\{"example.com\/sim"/);
    assert.equal(readFileSync(victim, 'utf8'), 'kept');
  });

  const asRoot = process.getuid?.() === 0 ? false : 'SKIPPED: only root has files that others may not touch';

  it('touches nothing as root where another user may lead it elsewhere', { skip: asRoot }, async () => {
    const other = tempDir();
    writeFileSync(path.join(other, 'kept'), '');
    mkdirSync(path.join(other, 'device-plugins'));
    const theirs = tempDir();
    symlinkSync(other, path.join(theirs, 'device-plugins'));
    const sticky = tempDir();
    symlinkSync(other, path.join(sticky, 'link'));
    lchownSync(path.join(sticky, 'link'), 54_321, 54_321);
    chownSync(theirs, 54_321, 54_321);
    chmodSync(sticky, 0o1777);
    for (const root of [theirs, path.join(theirs, 'new'), path.join(sticky, 'link')]) {
      const { code, stdout } = await run(['sim', 'kubelet', '--root', root]);
      assert.match(stdout, /"failed","message":".* who could stand in for the kubelet and for its plugins/);
      assert.equal(code, 1);
    }
    assert.deepEqual(
      [readdirSync(other).sort(), readdirSync(theirs)],
      [['device-plugins', 'kept'], ['device-plugins']],
    );
    const own = newKubelet(path.join(sticky, 'new', 'k'));
    await own.start();
  });

  it('writes its pods through no link', async () => {
    const kubelet = newKubelet();
    const victim = path.join(tempDir(), 'victim');
    writeFileSync(victim, 'kept');
    symlinkSync(victim, path.join(kubelet.root, 'node.json.new'));
    await kubelet.start();
    newPlugin(kubelet);
    await kubelet.saw('list', RESOURCE);
    kubelet.create('p', { [RESOURCE]: 1 });
    await kubelet.saw('container-started', 'p');
    assert.equal(readFileSync(victim, 'utf8'), 'kept');
    assert.match(readFileSync(path.join(kubelet.root, 'node.json'), 'utf8'), /"name":"p"/);
  });

  it('goes on where its checkpoint cannot be written', async () => {
    const kubelet = newKubelet();
    await kubelet.start();
    const fresh = path.join(kubelet.devicePlugins, 'kubelet_internal_checkpoint.new');
    mkdirSync(fresh);
    newPlugin(kubelet);
    const { message } = await kubelet.saw('checkpoint-failed');
    assert.ok(String(message).includes(fresh), String(message));
    kubelet.create('p', { [RESOURCE]: 1 });
    await kubelet.saw('container-started', 'p');
  });

  it('goes on where its pods cannot be written any more while one is admitted', async () => {
    const kubelet = newKubelet();
    await kubelet.start();
    newPlugin(kubelet, { fault: [{ method: 'Allocate', first: Infinity, act: { kind: 'delay', ms: 500 } }] });
    await kubelet.saw('list', RESOURCE);
    kubelet.create('p', { [RESOURCE]: 1 });
    await eventually('its pod is written', () => existsSync(path.join(kubelet.root, 'node.json')));
    const fresh = path.join(kubelet.root, 'node.json.new');
    mkdirSync(fresh);
    await kubelet.saw('container-started', 'p');
    const { message } = await kubelet.saw('pods-failed');
    assert.ok(String(message).includes(fresh), String(message));
    kubelet.create('q', { [RESOURCE]: 1 });
    await kubelet.saw('container-started', 'q');
  });

  it('refuses a resource name of any length at once', async () => {
    const kubelet = newKubelet();
    await kubelet.start();
    const client = new Client(`unix:${kubelet.socket}`, credentials.createInsecure());
    open.push(() => {
      client.close();
      return Promise.resolve();
    });
    const { Register } = loadServices('deviceplugin/v1beta1/deviceplugin.proto', {
      'v1beta1.Registration': ['Register'],
    })['v1beta1.Registration'];
    // A pattern that tries each way to divide such a name took hours for it.
    const name = 'a'.repeat(2_000_000);
    const failure = await new Promise<Error | null>((resolve) => {
      const { path: method, requestSerialize, responseDeserialize } = Register;
      const request = { version: 'v1beta1', endpoint: 'a.sock', resourceName: name };
      client.makeUnaryRequest(method, requestSerialize, responseDeserialize, request, (refused) => resolve(refused));
    });
    assert.match(failure?.message ?? '', /the ResourceName "a{80}" is invalid/);
  });

  it('goes on whatever users make in the registry', async () => {
    const kubelet = newKubelet();
    const own = path.join(kubelet.registry, 'own');
    // A path that is too long for the system stands for a directory that cannot be listed.
    const long = Array.from({ length: 10 }, () => 'a'.repeat(250)).join('/');
    for (const half of ['one', 'other']) mkdirSync(path.join(own, half, long), { recursive: true });
    renameSync(path.join(own, 'other'), path.join(own, 'one', long, 'other'));
    open.push(async () => removeTree(own));
    symlinkSync('loop', path.join(own, 'loop'));
    const server = createServer().listen(path.join(own, 'two\nlines'));
    open.push(async () => server.close());
    await once(server, 'listening');
    await kubelet.start();
    await kubelet.saw('registry-failed');
    newPlugin(kubelet, { door: 'watcher', watch: ['never'] });
    await kubelet.saw('list', RESOURCE);
  });

  it('cuts off the newest client of a resource when an older stream ends', async () => {
    const kubelet = newKubelet();
    await kubelet.start();
    const old = newPlugin(kubelet, { socketName: 'old.sock', watch: ['never'] });
    await kubelet.saw('list', RESOURCE);
    newPlugin(kubelet, { socketName: 'new.sock', watch: ['never'], devices: 3 });
    await kubelet.saw('list', RESOURCE, 2);
    await old.stop();
    const { socket } = await kubelet.saw('disconnected', RESOURCE);
    assert.equal(path.basename(String(socket)), 'new.sock');
    assert.deepEqual(kubelet.listed(RESOURCE), { devices: 0, healthy: 0 });
  });

  it('outlives a client that was cut off before its lists were asked for', async () => {
    const client = new PluginClient(path.join(tempDir(), 'gone.sock'), loadPluginApi());
    client.close();
    assert.match(await client.watch(() => assert.fail('a list')), /shut down/);
  });

  it('starts a container only after PreStartContainer succeeded, however often it is asked', async () => {
    const kubelet = newKubelet();
    await kubelet.start('--start-retry', '20ms');
    const fault = {
      method: 'PreStartContainer',
      first: 2,
      act: { kind: 'status', code: 14, details: 'not yet' },
    } as const;
    newPlugin(kubelet, { preStart: true, fault: [fault] });
    await kubelet.saw('list', RESOURCE);
    kubelet.create('p', { [RESOURCE]: 1 });
    const { reason, message } = await kubelet.saw('container-waiting', 'p', 2);
    assert.deepEqual([reason, message], ['CreateContainerConfigError', 'rpc error: code = Unavailable desc = not yet']);
    await kubelet.saw('container-started', 'p');
  });

  it('holds all pods while one Allocate hangs', async () => {
    const kubelet = newKubelet();
    await kubelet.start();
    newPlugin(kubelet, { fault: [{ method: 'Allocate', first: 1, act: { kind: 'delay', ms: 300 } }] });
    newPlugin(kubelet, { resource: 'example.com/other' });
    await kubelet.saw('list', RESOURCE);
    await kubelet.saw('list', 'example.com/other');
    kubelet.create('slow', { [RESOURCE]: 1 });
    kubelet.create('fast', { 'example.com/other': 1 });
    const { waitedMs } = await kubelet.saw('admitted', 'fast');
    assert.ok((waitedMs as number) >= 250, `waited ${String(waitedMs)} ms`);
  });

  it('ends the stream of a list above 4 MiB', async () => {
    const kubelet = newKubelet();
    await kubelet.start();
    newPlugin(kubelet, { devices: 20_000, idBytes: 240, watch: ['never'] });
    assert.match(String((await kubelet.saw('stream-ended', RESOURCE))['why']), /larger than max/);
  });

  it('keeps the capacity of a plugin that has gone for its grace, then forgets the resource', async () => {
    const kubelet = newKubelet();
    await kubelet.start('--status-every', '20ms', '--capacity-grace', '300ms');
    const plugin = newPlugin(kubelet, { watch: ['never'] });
    await kubelet.saw('list', RESOURCE);
    const nodes = (): unknown[] => kubelet.of('node').map((line) => line['resources']);
    await eventually('the node has it', () => nodes().length >= 2);
    await plugin.stop();
    await eventually('the resource is forgotten', () => kubelet.of('node').length >= 4);
    assert.deepEqual(nodes().slice(-3), [
      { [RESOURCE]: { capacity: 2, allocatable: 2 } },
      { [RESOURCE]: { capacity: 2, allocatable: 0 } },
      {},
    ]);
    kubelet.create('p', { [RESOURCE]: 1 });
    assert.deepEqual((await kubelet.saw('container-started', 'p'))['devices'], {});
  });
});
