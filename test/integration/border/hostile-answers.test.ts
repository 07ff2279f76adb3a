import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { encodeFrame, FRAME } from '../../../src/platform/http2/frames.js';
import { PluginInfo } from '../../../src/generated/proto/pluginregistration/v1/pluginregistration.js';
import { BrokerProcess } from '../../support/broker-process.js';
import { eventually } from '../../support/eventually.js';
import { FakePlugin } from '../../support/fake-plugin.js';
import { answerHeaders, earlyHints, HostilePlugin } from '../../support/http2/hostile-plugin.js';
import { message } from '../../support/http2/raw-peer.js';
import { RegisterCaller } from '../../support/register-caller.js';
import { tempDir } from '../../support/temp-dir.js';

void describe('a plugin that answers the broker with a flood', () => {
  const broker = new BrokerProcess(tempDir(), { log: { level: 'warn' } });
  let bystander: FakePlugin;
  before(async () => {
    await broker.start();
    bystander = await FakePlugin.start({ socket: path.join(broker.devicePlugins, 'b.sock') });
    await bystander.register(broker.kubeletSocket);
    await eventually('the bystander serves', async () => (await broker.allocatable('example.com/fake')) === 2);
  });
  after(async () => {
    await bystander.stop();
    await broker.close();
  });

  const told = async (socket: string, code: string): Promise<void> => {
    await eventually(`${code} of ${path.basename(socket)} is an event`, () =>
      broker.log.includes(`"code":"${code}","socket":"${socket}"`),
    );
  };

  void it('as its list loses its connection, and nobody else one', async () => {
    const socket = path.join(broker.devicePlugins, 'list.sock');
    const begun = message(Buffer.alloc(16 * 1024 * 1024)).subarray(0, 5);
    const plugin = await HostilePlugin.start(socket, {
      ListAndWatch: async (connection, stream) => {
        connection.write(answerHeaders(stream), encodeFrame(FRAME.DATA, 0, stream, begun));
        await connection.flood(encodeFrame(FRAME.DATA, 0, stream, Buffer.alloc(1)), 500_000);
      },
    });
    const caller = new RegisterCaller(broker.kubeletSocket, 'example.com/hostile', 'list.sock');
    assert.equal(await caller.call(), undefined);
    caller.close();
    await told(socket, 'FRAME_FLOOD');
    assert.equal(bystander.streams, 1);
    assert.equal(await broker.allocatable('example.com/fake'), 2);
    await plugin.stop();
  });

  void it('at the watcher door loses its connection, and the broker says why', async () => {
    const socket = path.join(broker.registry, 'hints.sock');
    const info = PluginInfo.encode({
      type: 'DevicePlugin',
      name: 'example.com/h',
      endpoint: '',
      supportedVersions: [],
    });
    const plugin = await HostilePlugin.start(
      socket,
      { GetInfo: (connection, stream) => connection.flood(earlyHints(stream), 500_000) },
      { GetInfo: info },
    );
    await told(socket, 'HEADERS_FLOOD');
    assert.equal(bystander.streams, 1);
    await plugin.stop();
  });
});
