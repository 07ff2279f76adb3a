import assert from 'node:assert/strict';
import { readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../../support/eventually.js';
import { FakePlugin, FakeStatus, healthy, type FakePluginOptions } from '../../support/fake-plugin.js';
import { tempDir } from '../../support/temp-dir.js';
import { startTestBroker, type TestBroker } from '../../support/test-broker.js';

const openDescriptors = (): number => readdirSync('/proc/self/fd').length;

void describe('instances of one plugin', async () => {
  const broker: TestBroker = await startTestBroker(tempDir(), (settings) => ({
    ...settings,
    grace: { ...settings.grace, deviceMs: 400 },
    // Broker and plugins share one process: a timeout that a busy machine exceeds would call a living plugin frozen, or refuse one
    // that is looked at while it connects.
    liveness: { intervalMs: 40, timeoutMs: 1000, failures: 1 },
    timeouts: { ...settings.timeouts, optionsMs: 2000 },
    discovery: { ...settings.discovery, retryFirstMs: 20, retryMaxMs: 40, rescanMs: 50 },
  }));
  const { devicePlugins } = broker.settings.paths;
  const plugins: FakePlugin[] = [];
  const plugin = async (name: string, over: Partial<FakePluginOptions> = {}): Promise<FakePlugin> => {
    const started = await FakePlugin.start({
      socket: path.join(devicePlugins, `${name}.sock`),
      resource: `example.com/${name.replace(/\d.*/, '')}`,
      ...over,
    });
    plugins.push(started);
    return started;
  };
  const register = (one: FakePlugin, over?: Parameters<FakePlugin['register']>[1]): Promise<void> =>
    one.register(broker.kubeletSocket, over);
  const allocatable = (name: string): number | undefined => broker.counts(`example.com/${name}`)?.allocatable;
  const view = (one: FakePlugin) => broker.plugins().find(({ socket }) => socket === one.socket);
  after(async () => {
    await Promise.all(plugins.map((one) => one.stop()));
    await broker.stop();
  });

  void it('TestDevicePluginReRegistration: the newest list counts, even if the others still send some', async () => {
    const p1 = await plugin('rereg1', { devices: healthy('Dev1', 'Dev2') });
    await register(p1);
    await eventually('2', () => allocatable('rereg') === 2);
    const p2 = await plugin('rereg2', { devices: healthy('Dev1', 'Dev2') });
    await register(p2);
    await eventually('p2 listed', () => p1.streams === 0);
    assert.deepEqual(broker.counts('example.com/rereg'), { capacity: 2, allocatable: 2 });
    const p3 = await plugin('rereg3', { devices: healthy('Dev3') });
    await register(p3);
    await eventually('exactly p3', () => broker.counts('example.com/rereg')?.capacity === 1);
    p1.setDevices(healthy('a', 'b', 'c'));
    p2.setDevices(healthy('a', 'b', 'c'));
    await pause(20);
    assert.deepEqual(broker.counts('example.com/rereg'), { capacity: 1, allocatable: 1 });
  });

  void it('a rolling update watched at 1 ms never shows allocatable below the device count', async () => {
    let current = await plugin('roll1', { devices: healthy('a', 'b', 'c', 'd') });
    await register(current);
    await eventually('4', () => allocatable('roll') === 4);
    const seen = new Set<number | undefined>();
    const watching = setInterval(() => seen.add(allocatable('roll')), 1);
    try {
      for (let round = 2; round < 12; round += 1) {
        const next = await plugin(`roll${String(round)}`, { devices: healthy('a', 'b', 'c', 'd') });
        await register(next);
        await eventually('taken over', () => next.streams === 1 && current.streams === 0);
        await current.stop();
        current = next;
      }
    } finally {
      clearInterval(watching);
    }
    assert.deepEqual([...seen], [4]);
  });

  void it('300 registrations of a living plugin open no second stream and no descriptor', async () => {
    // A broker with ordinary patience: here one process is 300 callers, the plugin and the broker.
    const patient = await startTestBroker(tempDir());
    const socket = path.join(patient.settings.paths.devicePlugins, 'repeat.sock');
    const one = await FakePlugin.start({ socket, resource: 'example.com/repeat' });
    plugins.push(one);
    await one.register(patient.kubeletSocket);
    await eventually('in', () => patient.counts('example.com/repeat')?.allocatable === 2);
    const before = openDescriptors();
    for (let batch = 0; batch < 10; batch += 1) {
      await Promise.all(Array.from({ length: 30 }, () => one.register(patient.kubeletSocket)));
    }
    await eventually('descriptors are back', () => openDescriptors() <= before);
    assert.equal(one.count('ListAndWatch'), 1);
    await patient.stop();
  });

  void it('kubelet fault 2: a failed registration under its name does not touch the incumbent, whose death is still noticed', async () => {
    const good = await plugin('incumbent', { devices: healthy('a') });
    await register(good);
    await eventually('in', () => allocatable('incumbent') === 1);
    await assert.rejects(register(good, { endpoint: 'nobody.sock' }), /ENDPOINT_MISSING/);
    const bad = await plugin('incumbent9', {
      hook: (method) => {
        if (method === 'GetDevicePluginOptions') throw new FakeStatus(13, 'broken plugin');
      },
    });
    await assert.rejects(register(bad), /OPTIONS_FAILED: .*failed to get device plugin options.*broken plugin/);
    assert.equal(allocatable('incumbent'), 1);
    assert.equal(good.streams, 1);
    await good.stop();
    await eventually('held', () => view(good)?.state === 'held' && allocatable('incumbent') === 0);
  });

  void it('kubelet fault 3: the late end of an old session never disconnects its successor', async () => {
    const old = await plugin('late1');
    await register(old);
    await eventually('in', () => allocatable('late') === 2);
    const young = await plugin('late2', { devices: healthy('x', 'y', 'z') });
    await register(young);
    await eventually('3', () => allocatable('late') === 3);
    old.endStreams(new FakeStatus(13, 'late end'));
    old.cutConnections();
    await old.stop();
    await pause(60);
    assert.equal(allocatable('late'), 3);
    assert.equal(young.count('ListAndWatch'), 1);
  });

  void it('kubelet fault 6: an options call that never answers ends with the deadline, and holds up nobody', async () => {
    const silent = await plugin('silent', {
      hook: (method) => (method === 'GetDevicePluginOptions' ? new Promise<void>(() => undefined) : undefined),
    });
    const refused = assert.rejects(register(silent), /DEADLINE_EXCEEDED: NO_ANSWER: .*example.com\/silent/);
    const other = await plugin('brisk');
    await register(other);
    await eventually('the other is in', () => allocatable('brisk') === 2);
    assert.equal(view(silent)?.state, 'connecting');
    await refused;
    assert.equal(view(silent)?.state, 'rejected');
  });

  void it('an empty list and an end is a goodbye: no grace', async () => {
    const one = await plugin('goodbye');
    await register(one);
    await eventually('in', () => allocatable('goodbye') === 2);
    one.setDevices([]);
    await eventually('0', () => broker.counts('example.com/goodbye')?.capacity === 0);
    one.endStreams();
    await eventually('gone', () => broker.counts('example.com/goodbye') === undefined);
    assert.equal(view(one)?.reason, 'goodbye');
  });

  void it('a lost plugin is held for its grace: capacity stays, allocatable is 0, then the resource is gone', async () => {
    const one = await plugin('grace');
    await register(one);
    await eventually('in', () => allocatable('grace') === 2);
    await one.stop();
    await eventually('held', () => allocatable('grace') === 0);
    assert.equal(broker.counts('example.com/grace')?.capacity, 2);
    await eventually('gone', () => broker.counts('example.com/grace') === undefined);
    assert.equal(view(one)?.reason, 'grace-over');
  });

  void it('a frozen plugin is found by a call, held, and back when it answers again', async () => {
    let frozen: Promise<void> | undefined;
    let thaw = (): void => undefined;
    const one = await plugin('frozen', {
      hook: (method) => (method === 'GetDevicePluginOptions' ? frozen : undefined),
    });
    await register(one);
    await eventually('in', () => allocatable('frozen') === 2);
    frozen = new Promise((resolve) => (thaw = resolve));
    await eventually('found', () => view(one)?.reason === 'not-answering' && allocatable('frozen') === 0);
    thaw();
    frozen = undefined;
    await eventually('back', () => view(one)?.state === 'ready' && allocatable('frozen') === 2);
    assert.equal(one.count('ListAndWatch'), 1);
  });

  void it('a frozen plugin that outlasts its grace is taken back when it thaws, without registering', async () => {
    let frozen: Promise<void> | undefined;
    let thaw = (): void => undefined;
    const one = await plugin('thaw', { hook: (method) => (method === 'GetDevicePluginOptions' ? frozen : undefined) });
    await register(one);
    await eventually('in', () => allocatable('thaw') === 2);
    frozen = new Promise((resolve) => (thaw = resolve));
    await eventually('gone', () => broker.counts('example.com/thaw') === undefined);
    thaw();
    frozen = undefined;
    await eventually('back', () => allocatable('thaw') === 2);
  });

  void it('a frozen plugin that stays silent when it is asked after its grace is taken back when it thaws', async () => {
    let frozen: Promise<void> | undefined;
    let thaw = (): void => undefined;
    let asked = 0;
    const one = await plugin('ice', {
      hook: (method) => {
        if (method !== 'GetDevicePluginOptions') return undefined;
        asked += 1;
        return frozen;
      },
    });
    await register(one);
    await eventually('in', () => allocatable('ice') === 2);
    frozen = new Promise((resolve) => (thaw = resolve));
    const isGone = (): boolean => view(one)?.state === 'gone';
    await eventually('its grace is over', isGone);
    const before = asked;
    await eventually('silent when it was asked after its grace', () => asked > before && isGone());
    thaw();
    frozen = undefined;
    await eventually('back', () => allocatable('ice') === 2);
  });

  void it('a plugin whose socket file vanishes stays ready and says path-missing; orphaned when another takes the path', async () => {
    const one = await plugin('path');
    await register(one);
    await eventually('in', () => allocatable('path') === 2);
    rmSync(one.socket);
    await eventually('path-missing', () => view(one)?.reason === 'path-missing');
    assert.equal(view(one)?.state, 'ready');
    assert.equal(allocatable('path'), 2);
    const thief = await FakePlugin.start({ socket: one.socket, resource: 'example.com/thief' });
    plugins.push(thief);
    await eventually('orphaned', () => view(one)?.state === 'orphaned');
    assert.equal(allocatable('path'), 2);
    const told = (): string[] =>
      broker.events.filter(({ plugin: whose }) => whose === 'DevicePlugin/example.com/path').map(({ type }) => type);
    const before = told().length;
    one.sendBytes(Buffer.from([0x0a, 0x04, 0x0a, 0x02, 0xff, 0xff]));
    await eventually('the refused list is told', () => told().length > before);
    one.setDevices(healthy('a'));
    await eventually('the good list counts', () => allocatable('path') === 1);
    assert.deepEqual(told().slice(before), ['devices', 'devices'], 'it was orphaned all the while');
    assert.equal(view(one)?.state, 'orphaned');
  });

  void it('a restart on the same path is a new incarnation, and make before break', async () => {
    const one = await plugin('samepath');
    await register(one);
    await eventually('in', () => allocatable('samepath') === 2);
    rmSync(one.socket);
    const two = await FakePlugin.start({
      socket: one.socket,
      resource: 'example.com/samepath',
      devices: healthy('1', '2', '3'),
    });
    plugins.push(two);
    const seen = new Set<number | undefined>();
    const watching = setInterval(() => seen.add(allocatable('samepath')), 1);
    try {
      await register(two);
      await eventually('3', () => allocatable('samepath') === 3 && one.streams === 0);
    } finally {
      clearInterval(watching);
    }
    assert.equal(seen.has(0), false);
  });

  void it('the replaced incarnation is the fallback: it is pulled again when its successor dies', async () => {
    const old = await plugin('fallback1', { devices: healthy('a') });
    await register(old);
    await eventually('in', () => allocatable('fallback') === 1);
    const young = await plugin('fallback2', { devices: healthy('a', 'b') });
    await register(young);
    await eventually('2', () => allocatable('fallback') === 2);
    await young.stop();
    await eventually('the old one is back', () => allocatable('fallback') === 1 && old.streams === 1);
    assert.equal(view(old)?.primary, true);
  });

  void it('a stream that ends with an error again and again is reopened with growing waits, and the list returns when it works', async () => {
    let broken = true;
    const one = await plugin('flaky', {
      hook: (method) => {
        if (method === 'ListAndWatch' && broken) throw new FakeStatus(14, 'not yet');
      },
    });
    await register(one);
    await eventually('tried again', () => one.count('ListAndWatch') >= 3);
    broken = false;
    await eventually('in', () => allocatable('flaky') === 2);
  });

  for (const reattach of ['probe', 'recycle'] as const) {
    void it(`with reattach ${reattach} an instance never sees a second ListAndWatch`, async () => {
      const own = await startTestBroker(
        tempDir(),
        (settings) => settings,
        {},
        (policy) => ({ ...policy, reattach }),
      );
      const one = await FakePlugin.start({ socket: path.join(own.settings.paths.devicePlugins, 'one.sock') });
      plugins.push(one);
      await one.register(own.kubeletSocket);
      await eventually('in', () => own.counts('example.com/fake')?.allocatable === 2);
      one.endStreams();
      const reason = reattach === 'probe' ? 'list-unwatched' : 'recycled';
      await eventually(reason, () => own.plugins()[0]?.reason === reason);
      assert.deepEqual(own.counts('example.com/fake'), { capacity: 2, allocatable: 2 });
      assert.equal(one.count('ListAndWatch'), 1);
      assert.equal(readdirSync(own.settings.paths.devicePlugins).includes('one.sock'), reattach === 'probe');
      await own.stop();
    });
  }
});
