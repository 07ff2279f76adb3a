import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Server, ServerCredentials, type ServerWritableStream } from '@grpc/grpc-js';
import {
  AllocateResponse,
  devicePluginService,
} from '../../../src/generated/proto/deviceplugin/v1beta1/deviceplugin.js';
import { AllocatorClient } from '../../../src/platform/grpc/allocator-client.js';
import { systemClock } from '../../../src/platform/time/system-clock.js';
import { AllocClient, refusalOf } from '../../support/alloc-client.js';
import { BrokerProcess } from '../../support/broker-process.js';
import { eventually } from '../../support/eventually.js';
import { healthy } from '../../support/fake-plugin.js';
import { RegisterCaller } from '../../support/register-caller.js';
import { tempDir } from '../../support/temp-dir.js';

const GPU = 'vendor.com/gpu';

describe('the answer of a plugin to Allocate', () => {
  const broker = new BrokerProcess(tempDir(), { cdi: { dir: path.join(tempDir(), 'cdi') } });
  const server = new Server();
  let client: AllocClient;
  /** The messages of the next answers. */
  let messages: readonly Uint8Array[] = [];

  before(async () => {
    await broker.start();
    const asItIs = (bytes: Buffer): Buffer => bytes;
    const { GetDevicePluginOptions, ListAndWatch, Allocate } = devicePluginService;
    // As a stream, because a server of one answer cannot send none or two.
    const answered = { ...Allocate, responseStream: true, responseSerialize: asItIs, requestDeserialize: asItIs };
    server.addService(
      { GetDevicePluginOptions, ListAndWatch, Allocate: answered },
      {
        GetDevicePluginOptions: (_: unknown, done: (failure: null, options: object) => void) => done(null, {}),
        ListAndWatch: (call: ServerWritableStream<object, object>) => call.write({ devices: healthy('gpu-0') }),
        Allocate: (call: ServerWritableStream<Buffer, Uint8Array>) => {
          for (const message of messages) call.write(message);
          call.end();
        },
      },
    );
    const socket = path.join(broker.devicePlugins, 'gpu.sock');
    await new Promise<void>((resolve, reject) =>
      server.bindAsync(`unix:${socket}`, ServerCredentials.createInsecure(), (failure) =>
        failure === null ? resolve() : reject(failure),
      ),
    );
    const caller = new RegisterCaller(broker.kubeletSocket, GPU, 'gpu.sock');
    assert.equal(await caller.call(), undefined);
    caller.close();
    await eventually('it offers its device', async () => (await broker.allocatable(GPU)) === 1);
    client = new AllocClient(path.join(broker.root, 'alloc.sock'));
  });
  const listed = (): ReturnType<AllocatorClient['listed']> =>
    new AllocatorClient(path.join(broker.root, 'alloc.sock'), systemClock).listed('', AbortSignal.timeout(10_000));
  after(async () => {
    client.close();
    server.forceShutdown();
    await broker.close();
  });

  const good = AllocateResponse.encode({ containerResponses: [{ envs: new Map([['GPU', '0']]) }] });
  const commas = new Map([['cdi.k8s.io/x', ','.repeat(60 * 1024)]]);
  const answers = {
    nothing: [],
    twice: [good, good],
    'for no container': [Buffer.alloc(0)],
    garbage: [Buffer.from('ffffffffff', 'hex')],
    'of 15 MiB': [Buffer.alloc(15 * 1024 * 1024, '0a00', 'hex')],
    'for half a million containers': [Buffer.alloc(1024 * 1024, '0a00', 'hex')],
    'of 128 KiB and more': [Buffer.concat([good, Buffer.from('7a808008', 'hex'), Buffer.alloc(128 * 1024)])],
    'of commas for CDI names': [AllocateResponse.encode({ containerResponses: [{ annotations: commas }] })],
    'text that is no UTF-8': [Buffer.from('0a060a040a02fffe', 'hex')],
  };
  for (const [what, given] of Object.entries(answers)) {
    it(`${what}: the request is refused as PLUGIN_FAILED, and the device is free`, async () => {
      messages = given;
      assert.equal(await refusalOf(client.one(GPU, { key: 'k' })), 'PLUGIN_FAILED');
      assert.deepEqual(await client.list(), []);
      messages = [good];
      const lease = await client.one(GPU, { key: 'k' });
      assert.deepEqual([lease.envs.get('GPU'), lease.granted[0]?.ids], ['0', ['gpu-0']]);
      assert.equal(await client.release({ key: 'k' }), true);
    });
  }

  it('names CDI devices in their field and in annotations: both are handed on behind that of the lease, each once', async () => {
    const annotations = new Map([
      ['cdi.k8s.io/x', 'v.e/gpu=a, v.e/gpu=b'],
      ['other', 'v.e/gpu=c'],
    ]);
    const cdiDevices = [{ name: 'v.e/gpu=a' }, { name: 'v.e/acc=z' }];
    messages = [AllocateResponse.encode({ containerResponses: [{ cdiDevices, annotations }] })];
    const lease = await client.one(GPU, { key: 'k' });
    const ours = `plugin-broker/lease=${lease.id}`;
    assert.deepEqual(lease.cdiDevices, [ours, 'v.e/gpu=a', 'v.e/acc=z', 'v.e/gpu=b']);
    assert.deepEqual(lease.annotations, annotations);
    const { leases, uid } = await listed();
    assert.deepEqual([leases.map(({ id }) => id), uid], [[lease.id], process.getuid?.()]);
    assert.equal(await client.release({ key: 'k' }), true);
  });
});
