import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { BrokerMetrics } from '../../../src/platform/metrics/broker-metrics.js';
import { eventually } from '../../support/eventually.js';
import { FakePlugin, healthy, type FakePluginOptions } from '../../support/fake-plugin.js';
import { RegisterCaller } from '../../support/register-caller.js';
import { tempDir } from '../../support/temp-dir.js';
import { startTestBroker, type TestBroker } from '../../support/test-broker.js';

const openDescriptors = (): number => readdirSync('/proc/self/fd').length;

/** Faults of the kubelet that have a test elsewhere: 1 and 16 in watcher-door, 2, 3 and 6 in succession. */
describe('known faults of the kubelet', () => {
  const root = tempDir();
  const metrics = new BrokerMetrics();
  const plugins: FakePlugin[] = [];
  let broker: TestBroker;
  before(async () => {
    const change: Parameters<typeof startTestBroker>[1] = (settings) => ({
      ...settings,
      discovery: { ...settings.discovery, rescanMs: 300 },
      liveness: { ...settings.liveness, intervalMs: 3_600_000 }, // calls are counted here
    });
    broker = await startTestBroker(root, change, { metrics });
  });
  after(async () => {
    await broker.stop();
    await Promise.all(plugins.map((one) => one.stop()));
  });
  async function plugin(options: FakePluginOptions): Promise<FakePlugin> {
    const one = await FakePlugin.start(options);
    plugins.push(one);
    return one;
  }
  const inDevices = (name: string): string => path.join(broker.settings.paths.devicePlugins, name);
  const inRegistry = (name: string): string => path.join(broker.settings.paths.pluginsRegistry, name);
  const allocatable = (name: string): number | undefined => broker.counts(`example.com/${name}`)?.allocatable;

  void it('kubelet fault 4: an endpoint that leaves the directory is not dialled', async () => {
    const outside = await plugin({ socket: path.join(root, 'x.sock'), resource: 'example.com/escape' });
    for (const endpoint of [
      '../x.sock',
      '../../../../../../../../..' + outside.socket,
      `${outside.socket}/../x.sock`,
    ]) {
      await assert.rejects(outside.register(broker.kubeletSocket, { endpoint }), /ENDPOINT_(OUTSIDE|MISSING): /);
    }
    assert.deepEqual([outside.calls.size, outside.connections], [0, 0]);
    assert.equal(broker.counts('example.com/escape'), undefined);
  });

  void it('kubelet fault 5: names that are refused make no series of metrics', async () => {
    const snapshot = {
      plugins: [],
      devices: [],
      version: '',
      quarantined: 0,
      openConnections: 0,
      floodRules: [],
      leases: [],
      allocateWaiting: 0,
      degraded: [],
    } as const;
    const one = await plugin({ socket: inDevices('names.sock'), resource: 'example.com/names' });
    await assert.rejects(one.register(broker.kubeletSocket, { resourceName: 'no name' }), /NAME_INVALID/);
    const before = metrics.render(snapshot);
    const caller = new RegisterCaller(broker.kubeletSocket, `bad-${'x'.repeat(40)}`, 'names.sock');
    await caller.call();
    for (let at = 0; at < 300; at += 1) {
      const bad = new RegisterCaller(broker.kubeletSocket, `bad-name-${String(at)}`, 'names.sock');
      assert.match((await bad.call())?.details ?? '', /NAME_INVALID/);
      bad.close();
    }
    caller.close();
    const after = metrics.render(snapshot);
    assert.doesNotMatch(after, /bad-name|bad-xx/);
    assert.equal(after.split('\n').length, before.split('\n').length);
    assert.match(after, /registrations_total\{.*NAME_INVALID.*\} 302/);
  });

  void it('kubelet fault 9: events that the system dropped are made good by looking', async () => {
    const most = Number(readFileSync('/proc/sys/fs/inotify/max_queued_events', 'utf8'));
    const one = await plugin({ socket: path.join(root, 'late.sock'), resource: 'example.com/late', door: 'watcher' });
    mkdirSync(inRegistry('loud'));
    const probe = await plugin({ socket: inRegistry('loud/p.sock'), resource: 'example.com/probe', door: 'watcher' });
    await eventually('the directory is followed', () => probe.notified.length === 1);
    // Nobody reads events in this turn of the loop: those of one directory fill the queue, that of another is lost.
    for (let at = 0; at * 2 < Math.min(most, 200_000) + 100; at += 1) {
      writeFileSync(inRegistry('loud/noise'), '');
      rmSync(inRegistry('loud/noise'));
    }
    renameSync(one.socket, inRegistry('late.sock'));
    await eventually('it is found', () => allocatable('late') === 2);
    await eventually('it was told', () => one.notified.length > 0);
    assert.deepEqual(one.notified, ['']);
  });

  void it('kubelet fault 10: a plugin that takes longer than a second for GetInfo is taken in at the first attempt', async () => {
    const slow = await plugin({
      socket: inRegistry('slow.sock'),
      resource: 'example.com/slow',
      door: 'watcher',
      hook: (method) => (method === 'GetInfo' ? pause(1200) : undefined),
    });
    await eventually('it is in', () => allocatable('slow') === 2);
    await eventually('it was told', () => slow.notified.length > 0);
    assert.deepEqual([slow.count('GetInfo'), slow.notified], [1, ['']]);
  });

  void it('kubelet fault 15: 1,000 registrations of one resource, living or replaced, leave one stream and no descriptor', async () => {
    const first = await plugin({ socket: inDevices('flood.sock'), resource: 'example.com/flood' });
    await first.register(broker.kubeletSocket);
    await eventually('it is in', () => allocatable('flood') === 2);
    const before = openDescriptors();
    const caller = new RegisterCaller(broker.kubeletSocket, 'example.com/flood', 'flood.sock');
    for (let batch = 0; batch < 50; batch += 1) {
      const failures = await Promise.all(Array.from({ length: 20 }, () => caller.call()));
      assert.deepEqual(
        failures.filter((failure) => failure !== undefined),
        [],
      );
    }
    caller.close();
    await eventually('descriptors are back', () => openDescriptors() <= before);
    assert.deepEqual([first.count('ListAndWatch'), first.count('GetDevicePluginOptions'), first.streams], [1, 1, 1]);
    // And from ever new sockets.
    for (let at = 0; at < 30; at += 1) {
      const next = await FakePlugin.start({
        socket: inDevices(`flood-${String(at)}.sock`),
        resource: 'example.com/flood',
        devices: healthy('a', 'b', 'c'),
      });
      await next.register(broker.kubeletSocket);
      await eventually('it took over', () => next.streams === 1 && allocatable('flood') === 3);
      if (at % 2 === 0) await next.stop();
      else plugins.push(next);
    }
    const ofFlood = () => broker.plugins().filter(({ name }) => name === 'example.com/flood');
    await eventually('one is ready', () => ofFlood().filter(({ state }) => state === 'ready').length === 1);
    assert.ok(ofFlood().length <= 7, 'a few predecessors are remembered');
  });
});
