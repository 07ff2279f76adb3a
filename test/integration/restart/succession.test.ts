// Changes that a restart of the broker finds half done: names that moved, successors without a list, losses that are none.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { rmSync, symlinkSync } from 'node:fs';
import { once } from 'node:events';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { BrokerProcess } from '../../support/broker-process.js';
import { distFile } from '../../support/dist.js';
import { eventually } from '../../support/eventually.js';
import { FakePlugin, healthy } from '../../support/fake-plugin.js';
import { tempDir } from '../../support/temp-dir.js';

const closing: (() => Promise<unknown>)[] = [];
after(async () => {
  await Promise.all(closing.map((close) => close()));
});

async function broker(config: object = {}): Promise<BrokerProcess> {
  const one = new BrokerProcess(tempDir(), config);
  closing.push(() => one.close());
  await one.start();
  return one;
}

async function plugin(
  { devicePlugins }: BrokerProcess,
  name: string,
  over: Partial<Parameters<typeof FakePlugin.start>[0]> & { readonly file?: string } = {},
): Promise<FakePlugin> {
  const socket = path.join(devicePlugins, `${over.file ?? name}.sock`);
  const one = await FakePlugin.start({ socket, resource: `example.com/${name}`, ...over });
  closing.push(() => one.stop());
  return one;
}

async function isIn(one: BrokerProcess, name: string, devices = 2): Promise<void> {
  await eventually(`${name} is in`, async () => (await one.allocatable(`example.com/${name}`)) === devices);
  await one.onDisk(`example.com/${name}`);
}

void describe('the findings of a restart', { concurrency: 2 }, () => {
  void it('a socket that is presumed under a wrong name gives way to its own name', async () => {
    const one = await broker();
    const [a, c] = [
      await plugin(one, 'a', { file: 's1' }),
      await plugin(one, 'c', { file: 's2', devices: healthy('x', 'y', 'z') }),
    ];
    for (const each of [a, c]) await each.register(one.kubeletSocket);
    await isIn(one, 'a');
    await isIn(one, 'c', 3);
    await one.end();
    for (const each of [a, c]) await each.stop();
    const swapped = [
      await plugin(one, 'a', { file: 's2' }),
      await plugin(one, 'c', { file: 's1', devices: healthy('x', 'y', 'z') }),
    ];
    await one.start();
    for (const each of swapped) await each.register(one.kubeletSocket);
    await eventually('each has its own devices', async () => {
      const counts = await one.counts();
      return counts.get('example.com/a')?.allocatable === 2 && counts.get('example.com/c')?.allocatable === 3;
    });
    // And so it stays, also over another restart.
    await one.onDisk('example.com/a');
    await one.onDisk('example.com/c');
    await one.end();
    await one.start();
    assert.deepEqual([await one.allocatable('example.com/a'), await one.allocatable('example.com/c')], [2, 3]);
  });

  void it('a socket that called under the presumed name keeps it against others, also over a restart', async () => {
    const one = await broker();
    const old = await plugin(one, 'own');
    await old.register(one.kubeletSocket);
    await isIn(one, 'own');
    await one.end();
    await old.stop();
    const young = await plugin(one, 'own', { devices: healthy('p', 'q', 'r') });
    await one.start();
    await isIn(one, 'own', 3);
    await young.register(one.kubeletSocket);
    const other = (): Promise<void> => young.register(one.kubeletSocket, { resourceName: 'example.com/other' });
    await assert.rejects(other(), /ENDPOINT_CLAIMED/);
    await one.end();
    await one.start();
    await assert.rejects(other(), /ENDPOINT_CLAIMED/);
    assert.equal(await one.allocatable('example.com/own'), 3);
  });

  void it('a rolling update whose newcomer has sent no list yet: the old one goes on counting', async () => {
    const one = await broker();
    const old = await plugin(one, 'rolling', { file: 'old' });
    await old.register(one.kubeletSocket);
    await isIn(one, 'rolling');
    let listed = (): void => undefined;
    const held = new Promise<undefined>((resolve) => (listed = () => resolve(undefined)));
    const young = await plugin(one, 'rolling', {
      file: 'young',
      devices: healthy('p', 'q', 'r'),
      hook: (method) => (method === 'ListAndWatch' ? held : undefined),
    });
    await young.register(one.kubeletSocket);
    await one.end();
    await one.start({ settled: false });
    assert.equal(await one.allocatable('example.com/rolling'), 2);
    await eventually('both are confirmed', async () =>
      (await one.plugins()).every(({ state, reason }) => state === 'ready' && reason === 'confirmed'),
    );
    assert.equal(await one.allocatable('example.com/rolling'), 2);
    listed();
    await eventually('the newcomer takes over', async () => (await one.allocatable('example.com/rolling')) === 3);
  });

  void it('a plugin that hangs is held for that, and does not count as one that restarts itself', async () => {
    const one = await broker({ liveness: { interval: '200ms', timeout: '100ms', failures: 2 } });
    let isFrozen = false;
    const hangs = await plugin(one, 'hangs', {
      hook: (method) =>
        isFrozen && method === 'GetDevicePluginOptions' ? new Promise<undefined>(() => undefined) : undefined,
    });
    await hangs.register(one.kubeletSocket);
    await isIn(one, 'hangs');
    await one.end();
    await one.start();
    isFrozen = true;
    await eventually('held', async () => (await one.plugins())[0]?.reason === 'not-answering');
    assert.equal(await one.allocatable('example.com/hangs'), 0);
  });

  void it('a plugin that died, its path a link to the socket of another: held at once', async () => {
    const one = await broker();
    const [dead, other] = [await plugin(one, 'dead'), await plugin(one, 'other')];
    for (const each of [dead, other]) await each.register(one.kubeletSocket);
    await isIn(one, 'dead');
    await isIn(one, 'other');
    await one.end();
    await dead.stop();
    rmSync(dead.socket, { force: true });
    symlinkSync(other.socket, dead.socket);
    await one.start();
    await eventually('held', async () => (await one.allocatable('example.com/dead')) === 0);
    assert.equal(await one.allocatable('example.com/other'), 2);
    rmSync(dead.socket);
  });

  void it('a plugin of the watcher door that died: held at once, not at the deadline', async () => {
    const one = await broker({ restart: { deadline: '1m' } });
    for (const [name, keepFile] of [
      ['gone', false],
      ['silent', true],
    ] as const) {
      const socket = path.join(one.registry, `${name}.sock`);
      const dies = await FakePlugin.start({ socket, resource: `example.com/${name}`, door: 'watcher' });
      closing.push(() => dies.stop());
      await isIn(one, name);
      await one.end();
      await dies.stop({ keepFile });
      await one.start({ settled: false });
      await eventually('held', async () => (await one.allocatable(`example.com/${name}`)) === 0);
    }
  });

  void it('duplicates reject: a plugin that restarts itself when kubelet.sock is re-created finds its name free', async () => {
    const one = await broker({ rules: [{ match: { name: 'example.com/*' }, duplicates: 'reject' }] });
    const first = await plugin(one, 'only');
    await first.register(one.kubeletSocket);
    await isIn(one, 'only');
    await one.end();
    await one.start();
    await first.stop();
    await eventually('settling', async () => (await one.plugins())[0]?.reason === 'settling');
    const again = await plugin(one, 'only');
    await again.register(one.kubeletSocket);
    await eventually('back', async () => (await one.plugins()).some(({ reason }) => reason === 'registered'));
  });
});

void describe('a second broker', { concurrency: 2 }, () => {
  void it('that finds no lock leaves the sockets of the first alone', async () => {
    const one = await broker();
    rmSync(path.join(one.root, 'state', 'lock'));
    const second = one.spawn();
    assert.deepEqual(await once(second, 'exit'), [1, null]);
    assert.match(one.log, /another process listens there/);
    assert.equal((await one.status()).broker.phase, 'ready');
  });

  void it('that gave up taking over has asked for nothing: the first goes on once it is thawed', async () => {
    const one = await broker();
    process.kill(one.pid ?? 0, 'SIGSTOP');
    const args = ['serve', '--root', one.root, '--takeover'];
    const successor = spawn(process.execPath, [distFile(), ...args], { stdio: 'ignore' });
    // It has asked by now or soon; its end takes the question with it.
    await new Promise((resolve) => setTimeout(resolve, 1000));
    successor.kill('SIGKILL');
    await once(successor, 'exit');
    process.kill(one.pid ?? 0, 'SIGCONT');
    await eventually('it answers', async () => (await one.status()).broker.phase === 'ready');
    await new Promise((resolve) => setTimeout(resolve, 300));
    assert.equal((await one.status()).broker.phase, 'ready');
    assert.doesNotMatch(one.log, /a successor takes over/);
  });
});
