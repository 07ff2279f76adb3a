import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { BrokerProcess } from '../../support/broker-process.js';
import { eventually } from '../../support/eventually.js';
import { FakePlugin, healthy } from '../../support/fake-plugin.js';
import { tempDir } from '../../support/temp-dir.js';

const made: { brokers: BrokerProcess[]; plugins: FakePlugin[] } = { brokers: [], plugins: [] };
after(async () => {
  await Promise.all(made.brokers.map((one) => one.close()));
  await Promise.all(made.plugins.map((one) => one.stop()));
});

async function broker(config: object = {}): Promise<BrokerProcess> {
  const one = new BrokerProcess(tempDir(), config);
  made.brokers.push(one);
  await one.start();
  return one;
}

async function plugin(
  folder: string,
  name: string,
  over: Partial<Parameters<typeof FakePlugin.start>[0]> = {},
): Promise<FakePlugin> {
  const one = await FakePlugin.start({
    socket: path.join(folder, `${name}.sock`),
    resource: `example.com/${name}`,
    ...over,
  });
  made.plugins.push(one);
  return one;
}

void describe('a restart of the broker', { concurrency: 2 }, () => {
  for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
    void it(`after ${signal}: plugins that never act are served at once, and confirmed`, async () => {
      const one = await broker();
      const names = Array.from({ length: 8 }, (_, index) => `p${String(index)}`);
      const plugins = await Promise.all(names.map((name) => plugin(one.devicePlugins, name)));
      await Promise.all(plugins.map((each) => each.register(one.kubeletSocket)));
      await eventually(
        'all in',
        async () => [...(await one.counts()).values()].filter(({ allocatable }) => allocatable === 2).length === 8,
      );
      for (const name of names) await one.onDisk(`example.com/${name}`);
      const code = await one.end(signal);
      assert.equal(code, signal === 'SIGTERM' ? 0 : null);
      await one.start({ settled: false });
      const first = await one.counts();
      assert.equal(first.size, 8);
      for (const { allocatable } of first.values()) assert.equal(allocatable, 2);
      await eventually('all confirmed', async () =>
        (await one.plugins()).every(({ state, reason }) => state === 'ready' && reason === 'confirmed'),
      );
      assert.equal((await one.status()).broker.restoredPlugins, 8);
      for (const each of plugins) assert.equal(each.count('ListAndWatch'), 2);
    });
  }

  void it('keeps kubelet.sock through SIGTERM, for the next start to replace', async () => {
    const one = await broker();
    await one.end('SIGTERM');
    assert.equal(existsSync(one.kubeletSocket), true);
    await one.start();
  });

  void it('holds a plugin that died meanwhile, and drops it after its grace', async () => {
    const one = await broker({ grace: { device: '300ms' } });
    const dead = await plugin(one.devicePlugins, 'dead');
    await dead.register(one.kubeletSocket);
    await eventually('in', async () => (await one.allocatable('example.com/dead')) === 2);
    await one.onDisk('example.com/dead');
    await one.end();
    await dead.stop({ keepFile: true });
    await one.start();
    await eventually('gone', async () => !(await one.counts()).has('example.com/dead'));
    assert.equal(existsSync(dead.socket), true, 'its socket is not deleted');
  });

  void it('after a reboot nothing is allocatable until it was probed', async () => {
    const one = await broker();
    let frozen: Promise<void> | undefined;
    let thaw = (): void => undefined;
    const slow = await plugin(one.devicePlugins, 'slow', {
      hook: (method) => (method === 'GetDevicePluginOptions' ? frozen : undefined),
    });
    await slow.register(one.kubeletSocket);
    await eventually('in', async () => (await one.allocatable('example.com/slow')) === 2);
    await one.onDisk('example.com/slow');
    await one.end();
    frozen = new Promise((resolve) => (thaw = resolve));
    await one.start({ settled: false, args: ['--boot-id', 'another-boot'] });
    assert.deepEqual((await one.counts()).get('example.com/slow'), { capacity: 2, allocatable: 0, state: 'restored' });
    assert.equal((await one.plugins())[0]?.reason, 'rebooted');
    thaw();
    frozen = undefined;
    await eventually('probed', async () => (await one.allocatable('example.com/slow')) === 2);
  });

  void it('takes the successor of a plugin that restarted while the broker was down', async () => {
    const one = await broker();
    const old = await plugin(one.devicePlugins, 'swap');
    await old.register(one.kubeletSocket);
    await eventually('in', async () => (await one.allocatable('example.com/swap')) === 2);
    await one.onDisk('example.com/swap');
    await one.end();
    await old.stop();
    const young = await plugin(one.devicePlugins, 'swap', { devices: healthy('a', 'b', 'c') });
    await one.start();
    await eventually('the successor serves', async () => (await one.allocatable('example.com/swap')) === 3);
    assert.equal(young.streams, 1);
  });

  void it('a plugin that restarts itself when kubelet.sock is re-created never loses its devices', async () => {
    const one = await broker();
    let current = await plugin(one.devicePlugins, 'cue');
    await current.register(one.kubeletSocket);
    await eventually('in', async () => (await one.allocatable('example.com/cue')) === 2);
    await one.onDisk('example.com/cue');
    await one.end();
    const seen = new Set<number | undefined>();
    await one.start({ settled: false });
    // It goes away after kubelet.sock was re-created, and takes its time to come back.
    await eventually('confirmed', async () => (await one.plugins())[0]?.state === 'ready');
    await current.stop();
    await eventually('settling', async () => (await one.plugins())[0]?.reason === 'settling');
    seen.add(await one.allocatable('example.com/cue'));
    current = await plugin(one.devicePlugins, 'cue');
    await current.register(one.kubeletSocket);
    await eventually('back', async () => {
      seen.add(await one.allocatable('example.com/cue'));
      return (await one.plugins()).some(({ state, reason }) => state === 'ready' && reason === 'registered');
    });
    assert.deepEqual([...seen], [2]);
  });

  void it('so does one that restarts itself when kubelet.sock is re-created beside the running broker', async () => {
    const one = await broker();
    let current = await plugin(one.devicePlugins, 'cue');
    await current.register(one.kubeletSocket);
    await eventually('in', async () => (await one.allocatable('example.com/cue')) === 2);
    rmSync(one.kubeletSocket);
    await eventually('it is made anew', () => existsSync(one.kubeletSocket));
    await current.stop();
    await eventually('its end is seen', async () => (await one.plugins())[0]?.state !== 'ready');
    assert.equal((await one.plugins())[0]?.reason, 'settling');
    assert.equal(await one.allocatable('example.com/cue'), 2);
    current = await plugin(one.devicePlugins, 'cue');
    await current.register(one.kubeletSocket);
    await eventually('back', async () => (await one.plugins()).some(({ state }) => state === 'ready'));
  });

  for (const reattach of ['probe', 'recycle'] as const) {
    void it(`reattach ${reattach}: a restart opens no second ListAndWatch on one instance`, async () => {
      const one = await broker({ rules: [{ match: { name: 'example.com/*' }, reattach }] });
      const fragile = await plugin(one.devicePlugins, 'fragile');
      await fragile.register(one.kubeletSocket);
      await eventually('in', async () => (await one.allocatable('example.com/fragile')) === 2);
      await one.onDisk('example.com/fragile');
      await one.end();
      await one.start();
      const reason = reattach === 'probe' ? 'list-unwatched' : 'recycled';
      await eventually(reason, async () => (await one.plugins())[0]?.reason === reason);
      assert.equal(await one.allocatable('example.com/fragile'), 2);
      assert.equal(fragile.count('ListAndWatch'), 1);
      assert.equal(existsSync(fragile.socket), reattach === 'probe');
    });
  }

  void it('gives a socket its name back that a killed broker had removed, also in a directory of its plugin', async () => {
    const one = await broker({
      restart: { settle: '1s' },
      rules: [{ match: { name: 'example.com/*' }, reattach: 'recycle' }],
    });
    const folder = path.join(one.devicePlugins, 'own');
    mkdirSync(folder);
    const deaf = await plugin(folder, 'deaf');
    await deaf.register(one.kubeletSocket, { endpoint: 'own/deaf.sock' });
    await eventually('in', async () => (await one.allocatable('example.com/deaf')) === 2);
    await one.onDisk('example.com/deaf');
    await one.end('SIGKILL');
    await one.start();
    await eventually('removed', () => !existsSync(deaf.socket));
    await one.end('SIGKILL');
    await one.start({ settled: false });
    await eventually('its name is back', () => existsSync(deaf.socket));
    await eventually('nothing is left', () => readdirSync(folder).length === 1);
  });

  void it('takes over the watcher door: GetInfo again, told again, nothing lost meanwhile', async () => {
    const one = await broker();
    const watched = await plugin(one.registry, 'watched', { door: 'watcher' });
    await eventually('in', async () => (await one.allocatable('example.com/watched')) === 2);
    await one.onDisk('example.com/watched');
    await one.end();
    await one.start({ settled: false });
    assert.equal(await one.allocatable('example.com/watched'), 2);
    await eventually('told again', () => watched.notified.length === 2);
    assert.deepEqual(watched.notified, ['', '']);
  });

  void it('remembers what an operator kept out', async () => {
    const one = await broker();
    const banned = await plugin(one.devicePlugins, 'banned');
    await banned.register(one.kubeletSocket);
    await one.admin.deregister({ name: 'example.com/banned', type: '' });
    await eventually('gone', async () => (await one.plugins())[0]?.state === 'gone');
    await one.end();
    await one.start();
    await assert.rejects(banned.register(one.kubeletSocket), /DEREGISTERED/);
    await banned.stop();
    const fresh = await plugin(one.devicePlugins, 'banned');
    await fresh.register(one.kubeletSocket);
  });

  void it('refuses a second broker with one sentence and exit 1', async () => {
    const one = await broker();
    const before = one.log.length;
    const second = one.spawn();
    const [code] = (await once(second, 'exit')) as [number];
    assert.equal(code, 1);
    const lines = one.log
      .slice(before)
      .trim()
      .split('\n')
      .filter((line) => !line.includes(`"pid":${String(one.pid)}`));
    assert.equal(lines.length, 1, lines.join('\n'));
    assert.match(lines[0] ?? '', new RegExp(`pid ${String(one.pid)}`));
    assert.equal((await one.status()).broker.phase, 'ready');
  });

  void it('--takeover under steady polling: no failed call, never less than before', async () => {
    const one = await broker();
    const stable = await plugin(one.devicePlugins, 'stable');
    await stable.register(one.kubeletSocket);
    await eventually('in', async () => (await one.allocatable('example.com/stable')) === 2);
    const seen = new Set<number | undefined>();
    const failures: unknown[] = [];
    const halt = { isOver: false };
    const polling = (async (): Promise<void> => {
      while (!halt.isOver)
        await one.allocatable('example.com/stable').then(
          (count) => seen.add(count),
          (failure: unknown) => failures.push(failure),
        );
    })();
    const oldPid = one.pid;
    await one.start({ args: ['--takeover'] });
    await eventually('confirmed by the successor', async () => (await one.plugins())[0]?.reason === 'confirmed');
    halt.isOver = true;
    await polling;
    assert.deepEqual(failures, []);
    assert.deepEqual([...seen], [2]);
    await eventually('the old one has left', () => !existsSync(`/proc/${String(oldPid)}`));
  });

  void it('a damaged checkpoint is moved aside and the previous generation is used as hints', async () => {
    const one = await broker();
    const kept = await plugin(one.devicePlugins, 'kept');
    await kept.register(one.kubeletSocket);
    await eventually('in', async () => (await one.allocatable('example.com/kept')) === 2);
    await one.onDisk('example.com/kept');
    await one.end('SIGTERM');
    const file = path.join(one.root, 'state', 'checkpoint.json');
    writeFileSync(file, readFileSync(file).subarray(0, 100));
    await one.start();
    const { checkpoint } = await one.status();
    assert.equal(checkpoint.state, 'recovered');
    await eventually('probed', async () => (await one.allocatable('example.com/kept')) === 2);
  });

  void it('a cold start removes plugin sockets and nothing else, so that plugins register again', async () => {
    const one = await broker();
    const lost = await plugin(one.devicePlugins, 'lost');
    await lost.register(one.kubeletSocket);
    await one.end('SIGTERM');
    rmSync(path.join(one.root, 'state'), { recursive: true });
    const other = path.join(one.devicePlugins, 'not-a-socket');
    writeFileSync(other, 'kept');
    await one.start();
    assert.deepEqual([existsSync(lost.socket), existsSync(other)], [false, true]);
    assert.equal((await one.status()).checkpoint.state, 'empty');
  });
});
