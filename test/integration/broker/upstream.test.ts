import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { eventually } from '../../support/eventually.js';
import { FakePlugin, healthy, type FakePluginOptions } from '../../support/fake-plugin.js';
import { tempDir } from '../../support/temp-dir.js';
import { startTestBroker, type TestBroker } from '../../support/test-broker.js';

/** Tests of the kubelet's plugin manager and device manager, by behaviour; docs/upstream-tests.md has all of them. */
describe('the promises of the kubelet to plugins', () => {
  const root = tempDir();
  const registry = path.join(root, 'plugins_registry');
  const plugins: FakePlugin[] = [];
  let broker: TestBroker;
  let early: FakePlugin[];

  async function plugin(options: FakePluginOptions): Promise<FakePlugin> {
    const one = await FakePlugin.start(options);
    plugins.push(one);
    return one;
  }
  const watched = (file: string, over: Partial<FakePluginOptions> = {}): Promise<FakePlugin> =>
    plugin({
      door: 'watcher',
      socket: path.join(registry, file),
      resource: `example.com/${path.basename(file)}`,
      ...over,
    });
  const calling = (name: string, over: Partial<FakePluginOptions> = {}): Promise<FakePlugin> =>
    plugin({ socket: path.join(root, 'device-plugins', `${name}.sock`), resource: 'example.com/caller', ...over });
  const counts = (name: string): string => {
    const found = broker.counts(`example.com/${name}`);
    return found === undefined ? 'none' : `${String(found.allocatable)}/${String(found.capacity)}`;
  };
  const entries = (name: string, state: string): number =>
    broker.plugins().filter((one) => one.name === `example.com/${name}` && one.state === state).length;

  before(async () => {
    mkdirSync(registry, { recursive: true });
    early = await Promise.all(Array.from({ length: 10 }, (_, at) => watched(`early-${String(at)}`)));
    broker = await startTestBroker(root, (settings) => ({
      ...settings,
      grace: { ...settings.grace, deviceMs: 150 },
      discovery: { ...settings.discovery, rescanMs: 100 },
    }));
  });
  after(async () => {
    await broker.stop();
    await Promise.all(plugins.map((one) => one.stop()));
  });

  void it('TestPluginRegistrationAtKubeletStart: ten sockets that were there before are all found', async () => {
    await eventually('all are told', () => early.every(({ notified }) => notified.length === 1));
    for (const one of early) assert.deepEqual([one.notified, one.count('GetInfo')], [[''], 1]);
  });

  void it('TestPluginManager: sockets at depth 0, 1 and 2 are each asked, taken in and told once, and let go once', async () => {
    for (const file of ['d0', 'd1/x1', 'd1/d2/x2']) {
      mkdirSync(path.dirname(path.join(registry, file)), { recursive: true });
      const one = await watched(file);
      const name = path.basename(file);
      await eventually(`${file} is in`, () => counts(name) === '2/2' && one.notified.length === 1);
      const calls = ['GetInfo', 'GetDevicePluginOptions', 'ListAndWatch', 'NotifyRegistrationStatus'] as const;
      assert.deepEqual(
        calls.map((method) => one.count(method)),
        [1, 1, 1, 1],
      );
      await one.stop();
      await eventually(`${file} is gone`, () => counts(name) === 'none');
      assert.deepEqual([entries(name, 'gone'), one.count('GetInfo')], [1, 1]);
    }
  });

  void it('TestPluginRegistration: ten times a socket appears, is in, and goes', async () => {
    for (let round = 0; round < 10; round += 1) {
      const one = await watched('again');
      await eventually('in', () => counts('again') === '2/2');
      assert.equal(entries('again', 'ready'), 1);
      await one.stop();
      await eventually('not ready', () => entries('again', 'ready') === 0);
    }
  });

  void it('TestPluginRegistrationSameName: of ten sockets of one name each is told it is in, and one speaks', async () => {
    const ten: FakePlugin[] = [];
    for (let at = 0; at < 10; at += 1) {
      const devices = healthy(...Array.from({ length: at + 1 }, (_, id) => String(id)));
      ten.push(await watched(`same-${String(at)}`, { resource: 'example.com/same', devices }));
    }
    await eventually('all are told', () => ten.every(({ notified }) => notified.at(-1) === ''));
    await eventually('one session, whose list counts', () => {
      const speaking = [...ten.keys()].filter((at) => (ten[at]?.streams ?? 0) > 0);
      const devices = String((speaking[0] ?? -1) + 1);
      return speaking.length === 1 && counts('same') === `${devices}/${devices}`;
    });
  });

  void it('TestPluginReRegistration: the same path again and again, another name each time, is one living entry', async () => {
    for (let round = 0; round < 10; round += 1) {
      const one = await watched('path', { resource: `example.com/name-${String(round)}` });
      await eventually('in', () => counts(`name-${String(round)}`) === '2/2');
      const ready = broker.plugins().filter(({ socket, state }) => socket === one.socket && state === 'ready');
      assert.equal(ready.length, 1);
      await one.stop();
    }
  });

  void it('TestDevicePluginReRegistrationProbeMode: the newest socket in the registry owns the resource', async () => {
    const one = await watched('probe-1', { resource: 'example.com/probe', devices: healthy('Dev1', 'Dev2') });
    await eventually('in', () => counts('probe') === '2/2');
    const two = await watched('probe-2', { resource: 'example.com/probe', devices: healthy('Dev1', 'Dev2') });
    await eventually('taken over', () => one.streams === 0 && two.streams === 1);
    assert.equal(counts('probe'), '2/2');
    const three = await watched('probe-3', { resource: 'example.com/probe', devices: healthy('Dev3') });
    await eventually('exactly the third', () => counts('probe') === '1/1' && two.streams === 0);
    one.setDevices(healthy('a', 'b'));
    assert.equal(three.streams, 1);
  });

  for (const preStartRequired of [false, true]) {
    for (const getPreferredAllocationAvailable of [false, true]) {
      const options = { preStartRequired, getPreferredAllocationAvailable };
      void it(`TestDevicePluginReRegistration with ${JSON.stringify(options)}: each registration replaces the list`, async () => {
        const name = `opt-${String(preStartRequired)}-${String(getPreferredAllocationAvailable)}`;
        const resource = `example.com/${name}`;
        const lists = [healthy('Dev1', 'Dev2'), healthy('Dev1', 'Dev2'), healthy('Dev3')];
        for (const [at, devices] of lists.entries()) {
          const one = await calling(`${name}-${String(at)}`, { resource, devices, options });
          await one.register(broker.kubeletSocket);
          await eventually(
            'its list',
            () => one.streams === 1 && counts(name) === `${String(devices.length)}/${String(devices.length)}`,
          );
        }
        const { facts } = broker.broker.core.roster.primaryOf('DevicePlugin', resource) ?? {};
        assert.deepEqual(facts, {
          preStartRequired,
          preferredAllocationAvailable: getPreferredAllocationAvailable,
        });
      });
    }
  }

  void it('TestUpdateCapacityAllocatable: removing, adding and flipping devices moves both figures', async () => {
    const one = await calling('figures', { resource: 'example.com/figures', devices: healthy('1', '2') });
    await one.register(broker.kubeletSocket);
    const sick = (id: string): { id: string; health: string } => ({ id, health: 'Unhealthy' });
    for (const [devices, expected] of [
      [healthy('1', '2'), '2/2'],
      [[...healthy('1', '2'), sick('3')], '2/3'],
      [[...healthy('1'), sick('2'), sick('3')], '1/3'],
      [[...healthy('2', '3')], '2/2'],
      [
        [
          { id: '1', health: 'healthy' },
          { id: '2', health: '' },
        ],
        '0/2',
      ],
      [[], '0/0'],
      [healthy('1'), '1/1'],
    ] as const) {
      one.setDevices(devices);
      await eventually(expected, () => counts('figures') === expected);
    }
    await one.stop();
    await eventually('held, then gone', () => counts('figures') === 'none');
  });

  void it('TestGetAllocatableDevicesMultipleResources: resources of one process do not mix', async () => {
    const [one, two] = [
      await calling('multi-1', { resource: 'example.com/multi-1', devices: healthy('a') }),
      await calling('multi-2', { resource: 'example.com/multi-2', devices: healthy('a', 'b') }),
    ];
    await Promise.all([one.register(broker.kubeletSocket), two.register(broker.kubeletSocket)]);
    await eventually('both', () => counts('multi-1') === '1/1' && counts('multi-2') === '2/2');
    one.setDevices([{ id: 'a', health: 'Unhealthy' }]);
    await eventually('one', () => counts('multi-1') === '0/1');
    assert.equal(counts('multi-2'), '2/2');
    one.setDevices(healthy('a'));
    await eventually('back', () => counts('multi-1') === '1/1');
  });

  void it('TestConnectClient_PluginConnectedFailureDeregisters: a failed registration leaves no connection and no entry that counts', async () => {
    const one = await calling('failing', {
      resource: 'example.com/failing',
      hook: (method) => {
        if (method === 'GetDevicePluginOptions') throw new Error('no');
      },
    });
    await assert.rejects(one.register(broker.kubeletSocket), /OPTIONS_FAILED/);
    await eventually('no connection', () => one.connections === 0);
    assert.equal(counts('failing'), 'none');
  });

  void it('TestSameSocketRace_OverlappingConnects: of many registrations at once one session comes, and all are told it is in', async () => {
    const one = await calling('overlap', { resource: 'example.com/overlap' });
    await Promise.all(Array.from({ length: 20 }, () => one.register(broker.kubeletSocket)));
    await eventually('in', () => counts('overlap') === '2/2');
    assert.deepEqual([one.count('GetDevicePluginOptions'), one.count('ListAndWatch')], [1, 1]);
  });

  void it('TestSameSocketRace_LateDisconnectAfterReconnect: the late end of an old session on a reused path does not evict the new one', async () => {
    const old = await calling('reused', { resource: 'example.com/reused' });
    await old.register(broker.kubeletSocket);
    await eventually('in', () => counts('reused') === '2/2');
    const young = await calling('reused', { resource: 'example.com/reused', devices: healthy('1', '2', '3') });
    await young.register(broker.kubeletSocket);
    await eventually('3', () => counts('reused') === '3/3');
    await old.stop();
    await eventually('the old one is over', () => old.connections === 0);
    assert.deepEqual([counts('reused'), young.streams], ['3/3', 1]);
  });

  void it('TestNewManagerImplStart: a broker may be stopped twice', async () => {
    const own = await startTestBroker(tempDir());
    await own.stop();
    await own.stop();
    assert.deepEqual(own.plugins(), []);
  });
});
