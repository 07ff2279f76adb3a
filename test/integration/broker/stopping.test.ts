import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import path from 'node:path';
import { it } from 'node:test';
import { eventually } from '../../support/eventually.js';
import { FakePlugin } from '../../support/fake-plugin.js';
import { RegisterCaller } from '../../support/register-caller.js';
import { tempDir } from '../../support/temp-dir.js';
import { startTestBroker } from '../../support/test-broker.js';

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00', 'latin1');
const R = 'example.com/slow';

it('a broker that stops reads no connection any more without a call under way, and answers the calls it has', async () => {
  const broker = await startTestBroker(tempDir());
  let goOn = (): void => undefined;
  const held = new Promise<undefined>((resolve) => (goOn = () => resolve(undefined)));
  const plugin = await FakePlugin.start({
    socket: path.join(broker.settings.paths.devicePlugins, 'slow.sock'),
    resource: R,
    hook: (method) => (method === 'GetDevicePluginOptions' ? held : undefined),
  });
  const caller = new RegisterCaller(broker.kubeletSocket, R, 'slow.sock');
  const called = caller.call();
  await eventually('the plugin is asked', () => plugin.count('GetDevicePluginOptions') === 1);
  const others = await Promise.all(
    [PREFACE, PREFACE.subarray(0, 10), Buffer.alloc(0)].map(async (octets) => {
      const socket = net.connect(broker.kubeletSocket).on('error', () => undefined);
      await once(socket, 'connect');
      socket.write(octets);
      return socket.resume();
    }),
  );
  await eventually('all are in', () => broker.broker.connections === others.length + 1);
  const ended = others.map((socket) => once(socket, 'close'));
  const stopped = broker.broker.stop(() => 20_000);
  await Promise.all(ended);
  assert.equal(broker.broker.connections, 1);
  const late = net.connect(broker.kubeletSocket).resume();
  await assert.rejects(once(late, 'close'), { code: 'ECONNREFUSED' });
  goOn();
  const failure = await called;
  assert.ok(failure === undefined || /STOPPING/.test(failure.message), failure?.message);
  await stopped;
  caller.close();
  await broker.stop();
  await plugin.stop();
});
