import assert from 'node:assert/strict';
import path from 'node:path';
import { describe, it, after } from 'node:test';
import { eventually } from '../../support/eventually.js';
import { FakePlugin, healthy, type FakePluginOptions } from '../../support/fake-plugin.js';
import { tempDir } from '../../support/temp-dir.js';
import { startTestBroker, type TestBroker } from '../../support/test-broker.js';

const R = 'example.com/fake';

void describe('the Register door', async () => {
  const broker: TestBroker = await startTestBroker(tempDir());
  const { devicePlugins } = broker.settings.paths;
  const plugins: FakePlugin[] = [];
  const plugin = async (name: string, over: Partial<FakePluginOptions> = {}): Promise<FakePlugin> => {
    const started = await FakePlugin.start({ socket: path.join(devicePlugins, name), ...over });
    plugins.push(started);
    return started;
  };
  const first = (): FakePlugin => plugins[0] as FakePlugin;
  after(async () => {
    await Promise.all(plugins.map((one) => one.stop()));
    await broker.stop();
  });

  void it('takes a plugin in and shows its devices', async () => {
    const one = await plugin('one.sock');
    await one.register(broker.kubeletSocket);
    await eventually('two devices', () => broker.counts(R)?.allocatable === 2);
    assert.equal(one.count('GetDevicePluginOptions'), 1);
    assert.equal(one.count('ListAndWatch'), 1);
    const [view] = broker.plugins();
    assert.equal(view?.state, 'ready');
    assert.equal(view.primary, true);
  });

  void it('follows health: unhealthy devices count in capacity and not in allocatable', async () => {
    first().setDevices([{ id: 'dev-0', health: 'Unhealthy' }, ...healthy('dev-1', 'dev-2')]);
    await eventually('3/2', () => broker.counts(R)?.capacity === 3 && broker.counts(R)?.allocatable === 2);
  });

  void it('answers the same incarnation again without a second stream', async () => {
    for (let i = 0; i < 20; i += 1) await first().register(broker.kubeletSocket);
    assert.equal(first().count('ListAndWatch'), 1);
    assert.equal(first().streams, 1);
    assert.equal(broker.plugins()[0]?.counters.registrations, 21);
  });

  void it('lets the newest win, and closes the old session only after the new list', async () => {
    let send = (): void => undefined;
    const mayList = new Promise<void>((resolve) => (send = resolve));
    const two = await plugin('two.sock', {
      devices: healthy('a', 'b', 'c', 'd'),
      hook: (method) => (method === 'ListAndWatch' ? mayList : undefined),
    });
    await two.register(broker.kubeletSocket);
    await eventually('its list is asked for', () => two.count('ListAndWatch') === 1);
    assert.deepEqual(
      broker.plugins().map(({ state }) => state),
      ['ready', 'ready'],
    );
    assert.deepEqual(broker.counts(R), { capacity: 3, allocatable: 2 });
    send();
    await eventually('four devices', () => broker.counts(R)?.allocatable === 4);
    await eventually('old stream closed', () => first().streams === 0);
    const states = broker.plugins().map(({ state, reason, primary }) => ({ state, reason, primary }));
    assert.deepEqual(states, [
      { state: 'ready', reason: 'registered', primary: true },
      { state: 'held', reason: 'replaced', primary: false },
    ]);
  });

  void it('does not let the late end of the old instance touch its successor', async () => {
    await first().stop();
    broker.broker.core.lifecycle.checkPaths();
    assert.deepEqual(broker.counts(R), { capacity: 4, allocatable: 4 });
  });

  void it('holds a lost resource and takes a restarted plugin back', async () => {
    const two = plugins[1];
    await two?.stop({ keepFile: true });
    await eventually('held', () => broker.counts(R)?.allocatable === 0 && broker.counts(R)?.capacity === 4);
    const three = await plugin('three.sock', { devices: healthy('x') });
    await three.register(broker.kubeletSocket);
    await eventually('one device', () => broker.counts(R)?.allocatable === 1);
  });

  void it('opens a broken stream of a living plugin again', async () => {
    const three = plugins[2];
    three?.endStreams();
    await eventually('a second stream', () => three?.count('ListAndWatch') === 2);
    await eventually('devices back', () => broker.counts(R)?.allocatable === 1);
  });

  void it('refuses wrong calls with a code and one sentence, and the healthy plugin notices nothing', async () => {
    const three = plugins[2];
    const rows: [Parameters<FakePlugin['register']>[1], RegExp][] = [
      [{ version: 'v1alpha7' }, /12 UNIMPLEMENTED: VERSION_UNSUPPORTED: .*supported versions are \["v1beta1"\]/],
      [{ resourceName: 'nodomain' }, /3 INVALID_ARGUMENT: NAME_INVALID/],
      [{ resourceName: 'a.kubernetes.io/x' }, /NAME_INVALID/],
      [{ endpoint: '../../escape.sock' }, /ENDPOINT_MISSING|ENDPOINT_OUTSIDE/],
      [{ endpoint: '' }, /ENDPOINT_INVALID/],
      [{ endpoint: 'kubelet.sock', resourceName: 'example.com/self' }, /ENDPOINT|NO_ANSWER|NOT_SERVED/],
      [{ endpoint: `${'x'.repeat(120)}.sock` }, /ENDPOINT_TOO_LONG/],
      [{ resourceName: 'example.com/other' }, /6 ALREADY_EXISTS: ENDPOINT_CLAIMED/],
    ];
    for (const [over, expected] of rows)
      await assert.rejects(three?.register(broker.kubeletSocket, over) ?? Promise.resolve(), expected);
    assert.deepEqual(broker.counts(R), { capacity: 1, allocatable: 1 });
    assert.equal(three?.streams, 1);
  });
});
