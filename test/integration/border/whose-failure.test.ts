import assert from 'node:assert/strict';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { systemClock } from '../../../src/platform/time/system-clock.js';
import { GRPC_STATUS } from '../../../src/model/reasons.js';
import { CallFailed, PluginChannel } from '../../../src/platform/grpc/plugin-client.js';
import { devicePluginService, Empty } from '../../../src/generated/proto/deviceplugin/v1beta1/deviceplugin.js';
import { FakePlugin, FakeStatus } from '../../support/fake-plugin.js';
import { guardSettings } from '../../support/http2/guard-settings.js';
import { tempDir } from '../../support/temp-dir.js';

const LARGEST = 64 * 1024;

function channelTo(socket: string): PluginChannel {
  return new PluginChannel(socket, LARGEST, { clock: systemClock, guard: () => guardSettings }, socket);
}

async function called(channel: PluginChannel): Promise<CallFailed> {
  const { path: method } = devicePluginService.GetDevicePluginOptions;
  const failure: unknown = await channel
    .unary(method, Empty.encode({}), 5000, new AbortController().signal)
    .catch((thrown: unknown) => thrown);
  assert.ok(failure instanceof CallFailed);
  return failure;
}

/** The words of a plugin may read like those of our transport about one that is not there. */
void describe('a call that fails is', () => {
  const hook = (): never => {
    throw new FakeStatus(GRPC_STATUS.UNKNOWN, 'ENOENT: no such file or directory, open /dev/nvidiactl');
  };

  void it("the plugin's answer, with any words", async () => {
    const plugin = await FakePlugin.start({ socket: path.join(tempDir(), 'p.sock'), hook });
    const channel = channelTo(plugin.socket);
    const failure = await called(channel);
    assert.deepEqual([failure.status, failure.fault], [GRPC_STATUS.UNKNOWN, undefined]);
    channel.close();
    await plugin.stop();
  });

  void it("our transport's, when nobody listens", async () => {
    const channel = channelTo(path.join(tempDir(), 'p.sock'));
    assert.equal((await called(channel)).fault, 'no-listener');
    channel.close();
  });
});

void describe('the end of a list stream is', () => {
  let plugin: FakePlugin;
  let channel: PluginChannel;
  beforeEach(async () => {
    plugin = await FakePlugin.start({ socket: path.join(tempDir(), 'p.sock') });
    channel = channelTo(plugin.socket);
  });
  afterEach(async () => {
    channel.close();
    await plugin.stop();
  });

  for (const [whose, happens, status, fault] of [
    ["the plugin's, when it closes it", () => plugin.endStreams(), GRPC_STATUS.OK, undefined],
    [
      "the plugin's, when it says UNAVAILABLE",
      () => plugin.endStreams(new FakeStatus(GRPC_STATUS.UNAVAILABLE, 'the driver is being loaded')),
      GRPC_STATUS.UNAVAILABLE,
      undefined,
    ],
    [
      "the plugin's, when its own server may not send so much",
      () =>
        plugin.endStreams(
          new FakeStatus(GRPC_STATUS.RESOURCE_EXHAUSTED, 'grpc: trying to send message larger than max (9 vs. 4)'),
        ),
      GRPC_STATUS.RESOURCE_EXHAUSTED,
      undefined,
    ],
    [
      "our transport's, when its list is larger than we take",
      () => plugin.sendBytes(Buffer.alloc(LARGEST + 1)),
      GRPC_STATUS.RESOURCE_EXHAUSTED,
      'too-large',
    ],
    ["our transport's, when its connection is cut", () => plugin.cutConnections(), GRPC_STATUS.UNAVAILABLE, 'hung-up'],
  ] as const) {
    void it(whose, async () => {
      const stream = channel.stream(devicePluginService.ListAndWatch.path, Empty.encode({}));
      assert.notEqual(await stream.read(), undefined);
      const next = stream.read();
      happens();
      assert.equal(await next, undefined);
      assert.deepEqual([stream.end?.status, stream.end?.fault], [status, fault], stream.end?.details);
    });
  }

  void it("our transport's, when nobody listens any more", async () => {
    await plugin.stop();
    const stream = channel.stream(devicePluginService.ListAndWatch.path, Empty.encode({}));
    assert.equal(await stream.read(), undefined);
    assert.deepEqual([stream.end?.status, stream.end?.fault], [GRPC_STATUS.UNAVAILABLE, 'no-listener']);
  });
});
