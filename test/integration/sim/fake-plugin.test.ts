import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { Client, credentials, status, type ServiceError } from '@grpc/grpc-js';
import { devicePluginService } from '../../../src/generated/proto/deviceplugin/v1beta1/deviceplugin.js';
import { registrationService as pluginRegistrationService } from '../../../src/generated/proto/pluginregistration/v1/pluginregistration.js';
import type { WireMethod } from '../../../src/platform/wire/method.js';
import type { Decoded, Fields } from '../../../src/platform/wire/table.js';
import { eventually } from '../../support/eventually.js';
import { FakePlugin, FakeStatus, healthy } from '../../support/fake-plugin.js';
import { tempDir } from '../../support/temp-dir.js';

const dial = (socket: string): Client => new Client(`unix:${socket}`, credentials.createInsecure());

function ask<Q extends Fields, A extends Fields>(client: Client, method: WireMethod<Q, A>): Promise<Decoded<A>> {
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      method.path,
      method.requestSerialize,
      method.responseDeserialize,
      {},
      { deadline: Date.now() + 5_000 },
      (failure, answer) => (answer === undefined ? reject(failure as ServiceError) : resolve(answer)),
    );
  });
}

describe('the fake plugin', () => {
  it('serves both doors on one socket, counts calls, and sends lists', async () => {
    const plugin = await FakePlugin.start({ socket: path.join(tempDir(), 'a.sock'), door: 'watcher' });
    const client = dial(plugin.socket);
    const info = await ask(client, pluginRegistrationService.GetInfo);
    assert.deepEqual(info, {
      type: 'DevicePlugin',
      name: 'example.com/fake',
      endpoint: '',
      supportedVersions: ['v1beta1'],
    });
    const { path: method, requestSerialize, responseDeserialize } = devicePluginService.ListAndWatch;
    const lists: number[] = [];
    const stream = client.makeServerStreamRequest(method, requestSerialize, responseDeserialize, {});
    stream.on('data', ({ devices }: { devices: readonly object[] }) => lists.push(devices.length));
    stream.on('error', () => undefined);
    await eventually('the first list', () => lists.length === 1);
    plugin.setDevices(healthy('x'));
    await eventually('the second list', () => lists.length === 2);
    assert.deepEqual([lists, plugin.streams, plugin.count('GetInfo')], [[2, 1], 1, 1]);
    stream.cancel();
    await eventually('the stream to end', () => plugin.streams === 0);
    client.close();
    await plugin.stop();
    assert.equal(existsSync(plugin.socket), false);
  });

  it('fails calls as its hook says and leaves its file behind when it is killed', async () => {
    const plugin = await FakePlugin.start({
      socket: path.join(tempDir(), 'a.sock'),
      hook: (method) => {
        if (method === 'GetDevicePluginOptions') throw new FakeStatus(status.UNAVAILABLE, 'not now');
      },
    });
    const client = dial(plugin.socket);
    await assert.rejects(ask(client, devicePluginService.GetDevicePluginOptions), {
      code: status.UNAVAILABLE,
      details: 'not now',
    });
    client.close();
    await plugin.stop({ keepFile: true });
    assert.equal(existsSync(plugin.socket), true);
    await plugin.serve();
    await plugin.stop();
  });

  it('never removes the socket of a successor', async () => {
    const socket = path.join(tempDir(), 'a.sock');
    const first = await FakePlugin.start({ socket });
    const second = await FakePlugin.start({ socket });
    await first.stop();
    assert.equal(existsSync(socket), true);
    await second.stop();
  });

  it('ends its streams well or with an error', async () => {
    const plugin = await FakePlugin.start({ socket: path.join(tempDir(), 'a.sock') });
    const client = dial(plugin.socket);
    const { path: method, requestSerialize, responseDeserialize } = devicePluginService.ListAndWatch;
    const ends: unknown[] = [];
    for (const failure of [undefined, new FakeStatus(status.ABORTED, 'enough')]) {
      const stream = client.makeServerStreamRequest(method, requestSerialize, responseDeserialize, {});
      stream.on('error', () => undefined);
      stream.on('status', ({ code, details }) => ends.push([code, details]));
      stream.resume();
      await eventually('the stream', () => plugin.streams === 1);
      plugin.endStreams(failure);
      await eventually('its end', () => plugin.streams === 0 && ends.length > 0);
      await eventually('its status', () => ends.length === (failure === undefined ? 1 : 2));
    }
    assert.deepEqual(ends, [
      [status.OK, 'OK'],
      [status.ABORTED, 'enough'],
    ]);
    client.close();
    await plugin.stop();
  });
});
