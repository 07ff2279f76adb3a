import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { eventually } from '../../support/eventually.js';
import { FakePlugin, FakeStatus, healthy, type FakePluginOptions } from '../../support/fake-plugin.js';
import { tempDir } from '../../support/temp-dir.js';
import { startTestBroker, type TestBroker } from '../../support/test-broker.js';

void describe('the watcher door', async () => {
  const root = tempDir();
  const plugins: FakePlugin[] = [];
  const registry = path.join(root, 'plugins_registry');
  const plugin = async (name: string, over: Partial<FakePluginOptions> = {}): Promise<FakePlugin> => {
    const started = await FakePlugin.start({
      door: 'watcher',
      socket: path.join(registry, name),
      resource: `example.com/${path.basename(name).replace(/\W.*/, '')}`,
      ...over,
    });
    plugins.push(started);
    return started;
  };
  mkdirSync(path.join(registry, 'deep', 'er'), { recursive: true });
  const early = await plugin('early.sock');
  const deep = await plugin('deep/er/deep.sock');
  const broker: TestBroker = await startTestBroker(root, (settings) => ({
    ...settings,
    discovery: { ...settings.discovery, retryFirstMs: 20, retryMaxMs: 40 },
    grace: { ...settings.grace, deviceMs: 300 },
  }));
  after(async () => {
    await broker.stop();
    await Promise.all(plugins.map((one) => one.stop()));
  });
  const ready = (name: string): boolean => broker.counts(`example.com/${name}`)?.allocatable === 2;
  const state = (name: string): string | undefined =>
    broker.plugins().find((one) => one.name === `example.com/${name}` && one.primary)?.state;

  void it('finds sockets that were there before it started, in nested directories too', async () => {
    await eventually('both', () => ready('early') && ready('deep'));
    await eventually('both were told', () => early.notified.length === 1 && deep.notified.length === 1);
    assert.deepEqual([early.notified, deep.notified], [[''], ['']]);
  });

  void it('finds a socket that appears, and one in a directory that appears', async () => {
    await plugin('late.sock');
    mkdirSync(path.join(registry, 'new', 'nested'), { recursive: true });
    await plugin('new/nested/nested.sock');
    await eventually('both', () => ready('late') && ready('nested'));
  });

  void it('ignores names with a leading dot, and files that are no sockets', async () => {
    const hidden = await plugin('.hidden.sock', { resource: 'example.com/hidden' });
    mkdirSync(path.join(registry, '.dir'));
    const inside = await plugin('.dir/x.sock', { resource: 'example.com/inside' });
    writeFileSync(path.join(registry, 'file.sock'), '');
    const marker = await plugin('marker.sock');
    await eventually('a later socket is in', () => marker.notified.length === 1);
    broker.broker.core.lifecycle.checkPaths();
    assert.deepEqual([hidden.calls.size, inside.calls.size], [0, 0]);
  });

  void it('takes chmod for what it is: nothing new', async () => {
    const before = early.count('GetInfo');
    for (const mode of [0o700, 0o777, 0o755]) chmodSync(early.socket, mode);
    const marker = await plugin('marker2.sock');
    await eventually('a later socket is in', () => marker.notified.length === 1);
    assert.equal(early.count('GetInfo'), before);
    assert.equal(ready('early'), true);
  });

  void it('sees a socket that is replaced in place within milliseconds', async () => {
    const one = await plugin('swap.sock');
    await eventually('in', () => ready('swap'));
    for (let round = 0; round < 5; round += 1) {
      await one.stop();
      await one.serve();
      const told = one.notified.length;
      await eventually('told again', () => one.notified.length > told || one.count('GetInfo') > round + 1);
    }
    await eventually('ready again', () => ready('swap') && one.streams === 1);
  });

  void it('de-registers without dialling when the socket goes: held, then gone', async () => {
    const one = await plugin('leaving.sock');
    await eventually('in', () => ready('leaving'));
    rmSync(one.socket);
    await eventually('held', () => state('leaving') === 'held' && broker.counts('example.com/leaving')?.capacity === 2);
    await eventually('gone', () => broker.counts('example.com/leaving') === undefined);
    assert.equal(one.count('GetInfo'), 1);
  });

  void it('notices a socket that is renamed out of the tree', async () => {
    const one = await plugin('moved.sock');
    await eventually('in', () => ready('moved'));
    renameSync(one.socket, path.join(root, 'moved.sock'));
    await eventually('held', () => state('moved') === 'held');
  });

  void it('retries GetInfo and tells a refusal with its reason', async () => {
    let failures = 3;
    const one = await plugin('slow.sock', {
      hook: (method) => {
        if (method === 'GetInfo' && failures-- > 0) throw new FakeStatus(14, 'not yet');
      },
    });
    await eventually('in and told', () => ready('slow') && one.notified.length > 0);
    assert.deepEqual(one.notified, ['']);
    const wrong = await plugin('wrong.sock', { info: { supportedVersions: ['v1alpha1'] } });
    await eventually('told why', () => /^VERSION_UNSUPPORTED: .*v1beta1/.test(wrong.notified[0] ?? ''));
    const alien = await plugin('alien.sock', { info: { type: 'Alien' } });
    await eventually('told why', () => /^TYPE_UNKNOWN: /.test(alien.notified[0] ?? ''));
  });

  void it('kubelet fault 1: a handler that failed is tried again, from the beginning, and nothing is entered before it succeeds', async () => {
    let failures = 2;
    const one = await plugin('handler.sock', {
      hook: (method) => {
        if (method === 'GetDevicePluginOptions' && failures-- > 0) throw new FakeStatus(13, 'no options yet');
      },
    });
    await eventually('in and told', () => ready('handler') && one.notified.at(-1) === '');
    assert.ok(one.count('GetInfo') >= 3);
    assert.match(one.notified[0] ?? '', /^OPTIONS_FAILED: .*failed to get device plugin options.*no options yet/);
  });

  void it('serves a plugin that cannot be told yet, and tells it later', async () => {
    let failures = 1;
    const one = await plugin('deaf.sock', {
      hook: (method) => {
        if (method === 'NotifyRegistrationStatus' && failures-- > 0) throw new FakeStatus(14, 'busy');
      },
    });
    await eventually('serves', () => ready('deaf'));
    const reason = (): string | undefined => broker.plugins().find(({ name }) => name === 'example.com/deaf')?.reason;
    await eventually('told', () => one.notified.at(-1) === '');
    await eventually('reason is back', () => reason() === 'registered');
    assert.ok(broker.events.some((event) => event.reason === 'notify-pending'));
    assert.equal(one.count('GetInfo'), 1);
  });

  void it('follows a symlink to a socket, and refuses one that leads out of its root', async () => {
    const outside = await FakePlugin.start({
      door: 'watcher',
      socket: path.join(root, 'outside.sock'),
      resource: 'example.com/outside',
    });
    plugins.push(outside);
    symlinkSync(outside.socket, path.join(registry, 'link.sock'));
    await eventually('refused', () => /^ENDPOINT_OUTSIDE: /.test(outside.notified[0] ?? ''));
  });

  void it('kubelet fault 16: the end of the older of two sockets of one name leaves the newer one alone', async () => {
    const old = await plugin('twin-a.sock', { resource: 'example.com/twin', devices: healthy('a') });
    await eventually('old in', () => broker.counts('example.com/twin')?.allocatable === 1);
    const young = await plugin('twin-b.sock', { resource: 'example.com/twin', devices: healthy('a', 'b', 'c') });
    await eventually('young in', () => broker.counts('example.com/twin')?.allocatable === 3 && old.streams === 0);
    await old.stop();
    await eventually(
      'old gone',
      () => !broker.plugins().some(({ socket, state: s }) => socket === old.socket && s === 'held'),
    );
    assert.deepEqual(broker.counts('example.com/twin'), { capacity: 3, allocatable: 3 });
    assert.equal(young.streams, 1);
  });

  void it('finds everything again after the directory was removed and made anew', async () => {
    rmSync(registry, { recursive: true });
    await eventually('all held or gone', () => broker.plugins().every((one) => one.state !== 'ready'));
    await eventually('the directory is back', () => {
      mkdirSync(registry, { recursive: true });
      return true;
    });
    const one = await plugin('phoenix.sock');
    await eventually('in', () => ready('phoenix') && one.notified.length === 1);
  });
});
