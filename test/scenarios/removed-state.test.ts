import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { inspectCheckpoint } from '../../src/checkpoint/inspect.js';
import { nodeFiles } from '../../src/platform/store/node-files.js';
import { BrokerProcess } from '../support/broker-process.js';
import { isDone } from '../../src/kernel/if-possible.js';
import { eventually } from '../support/eventually.js';
import { FakePlugin, healthy } from '../support/fake-plugin.js';
import { tempDir } from '../support/temp-dir.js';

const made: { brokers: BrokerProcess[]; plugins: FakePlugin[] } = { brokers: [], plugins: [] };
after(async () => {
  await Promise.all(made.brokers.map((one) => one.close()));
  await Promise.all(made.plugins.map((one) => one.stop()));
});

const DEVICES = 500;
/** Things that nobody can read a file from. */
const REPLACEMENTS: Readonly<Record<string, (file: string) => void>> = {
  'a FIFO': (file) => execFileSync('mkfifo', [file]),
  'a directory': (file) => mkdirSync(file),
  'an empty file': (file) => writeFileSync(file, ''),
};

async function plugin(folder: string, name: string): Promise<FakePlugin> {
  const one = await FakePlugin.start({
    socket: path.join(folder, `${name}.sock`),
    resource: `example.com/${name}`,
    devices: healthy(...Array.from({ length: DEVICES }, (_, index) => `device-${String(index)}`)),
  });
  made.plugins.push(one);
  return one;
}

async function withTwoPlugins(): Promise<BrokerProcess> {
  const one = new BrokerProcess(tempDir(), { discovery: { rescan: '1s' } });
  made.brokers.push(one);
  await one.start();
  const plugins = await Promise.all(['large', 'other'].map((name) => plugin(one.devicePlugins, name)));
  for (const each of plugins) await each.register(one.kubeletSocket);
  for (const name of ['large', 'other']) {
    await eventually(`${name} counts`, async () => (await one.allocatable(`example.com/${name}`)) === DEVICES);
    await one.onDisk(`example.com/${name}`);
  }
  return one;
}

void describe('files removed while the broker runs', () => {
  void it('is written again where it was state/: after the next registration and kill -9 all devices are there', async () => {
    const one = await withTwoPlugins();
    const state = path.join(one.root, 'state');
    rmSync(state, { recursive: true });
    const third = await plugin(one.devicePlugins, 'third');
    await third.register(one.kubeletSocket);
    await one.end('SIGKILL');
    // From the moment of the answer on nothing that the checkpoint names is missing.
    const seen = await inspectCheckpoint(nodeFiles, path.join(state, 'checkpoint.json'));
    assert.deepEqual([seen.condition, seen.problems], ['whole', []]);
    const lists = new Map(seen.plugins.map(({ name, list, devices }) => [name, [list, devices]]));
    for (const name of ['large', 'other']) assert.deepEqual(lists.get(`example.com/${name}`), ['file', DEVICES]);
    await one.start({ settled: false });
    const counts = await one.counts();
    for (const name of ['large', 'other']) assert.equal(counts.get(`example.com/${name}`)?.capacity, DEVICES);
  });

  void it('is written again before a plugin that is known already is told that it is registered', async () => {
    const one = new BrokerProcess(tempDir(), { discovery: { rescan: '10m' } });
    made.brokers.push(one);
    await one.start();
    const known = await plugin(one.devicePlugins, 'known');
    await known.register(one.kubeletSocket);
    await one.onDisk('example.com/known');
    const file = path.join(one.root, 'state', 'checkpoint.json');
    rmSync(path.dirname(file), { recursive: true });
    await known.register(one.kubeletSocket);
    await one.end('SIGKILL');
    const { condition, problems, plugins } = await inspectCheckpoint(nodeFiles, file);
    assert.deepEqual([condition, problems, plugins[0]?.devices], ['whole', [], DEVICES]);
  });

  void it('is written again where it was state/, while nothing happens; and its lock keeps others out again', async () => {
    const one = await withTwoPlugins();
    const state = path.join(one.root, 'state');
    rmSync(state, { recursive: true });
    await eventually('what it named is there', async () => {
      const { condition, problems, plugins } = await inspectCheckpoint(nodeFiles, path.join(state, 'checkpoint.json'));
      return condition === 'whole' && problems.length === 0 && plugins.length === 2;
    });
    await eventually('its lock is there', () => existsSync(path.join(state, 'lock')));
    const second = one.spawn();
    assert.deepEqual(await once(second, 'exit'), [1, null]);
    assert.match(one.log, new RegExp(`another broker \\(pid ${String(one.pid)}, ready\\) holds`));
    await one.start({ args: ['--takeover'] });
    assert.equal((await one.counts()).get('example.com/large')?.allocatable, DEVICES);
  });

  void it('is written again where it was one device list', async () => {
    const one = await withTwoPlugins();
    const lists = path.join(one.root, 'state', 'devices');
    const [file = ''] = readdirSync(lists);
    rmSync(path.join(lists, file));
    await eventually('it is there', () => readdirSync(lists).includes(file));
  });

  for (const [what, replace] of Object.entries(REPLACEMENTS)) {
    void it(`is written again where it is ${what} by now, a device list and checkpoint.json`, async () => {
      const one = await withTwoPlugins();
      const state = path.join(one.root, 'state');
      const [list = ''] = readdirSync(path.join(state, 'devices'));
      for (const file of [path.join(state, 'devices', list), path.join(state, 'checkpoint.json')]) {
        // The broker may be faster than the one that exchanges it.
        await eventually('it is exchanged', () => {
          rmSync(file, { force: true });
          return isDone(() => replace(file));
        });
        await eventually('the file is there again', () => statSync(file).isFile() && statSync(file).size > 0);
      }
      await eventually('nothing is missing', async () => {
        const { condition, problems } = await inspectCheckpoint(nodeFiles, path.join(state, 'checkpoint.json'));
        return condition === 'whole' && problems.length === 0;
      });
      await one.end('SIGKILL');
      await one.start({ settled: false });
      const counts = await one.counts();
      for (const name of ['large', 'other']) assert.equal(counts.get(`example.com/${name}`)?.capacity, DEVICES);
    });
  }

  void it('is made again where it was broker.sock', async () => {
    const one = await withTwoPlugins();
    const socket = path.join(one.root, 'broker.sock');
    rmSync(socket);
    await eventually('broker.sock is there again', () => existsSync(socket));
    await eventually('it answers', async () => (await one.status()).broker.pid === one.pid);
    assert.match(one.log, /broker\.sock is not in .* any more; it is made again/);
  });

  void it('again and again is not made again each time where it was kubelet.sock, so that no plugin floods us for it', async () => {
    const one = await withTwoPlugins();
    const remade = (): number => one.log.match(/kubelet\.sock is not in .* it is made again/g)?.length ?? 0;
    for (let nth = 1; nth <= 5; nth += 1) {
      rmSync(one.kubeletSocket);
      await eventually('it is there again', () => remade() === nth && existsSync(one.kubeletSocket));
    }
    rmSync(one.kubeletSocket);
    await eventually('it is told', async () => {
      const { phase, problems } = (await one.status()).broker;
      return phase === 'degraded' && problems.join().includes('removed from');
    });
    assert.equal(existsSync(one.kubeletSocket), false);
    await eventually('it is there again', () => existsSync(one.kubeletSocket), { withinMs: 30_000 });
    await eventually('and stays', async () => (await one.status()).broker.phase === 'ready', { withinMs: 30_000 });
    assert.equal(remade(), 6);
  });
});
