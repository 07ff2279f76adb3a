import { Client, credentials, compressionAlgorithms, status, type ServiceError } from '@grpc/grpc-js';
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type IncomingHttpHeaders } from 'node:http2';
import { createConnection } from 'node:net';
import { afterEach, describe, it, mock, type TestContext } from 'node:test';
import zlib from 'node:zlib';
import { registrationService } from '../../../src/generated/proto/deviceplugin/v1beta1/deviceplugin.js';
import { tempDir } from '../../support/temp-dir.js';
import { startTestBroker } from '../../support/test-broker.js';

const { path, requestSerialize, responseDeserialize } = registrationService.Register;
const REQUEST = { version: 'v0', endpoint: 'none.sock', resourceName: 'example.com/gpu' };

/** One call of Register with headers and a flag of its own: everything that was said of how it ended. */
async function answerTo(socket: string, headers: Record<string, string>, flag: number): Promise<IncomingHttpHeaders> {
  const session = connect('http://localhost', { createConnection: () => createConnection(socket) });
  const call = session.request({
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...headers,
  });
  const said: IncomingHttpHeaders = {};
  const says = (more: IncomingHttpHeaders): void => void Object.assign(said, more);
  call.on('response', says).on('trailers', says);
  call.resume();
  const content = requestSerialize(REQUEST);
  const message = Buffer.alloc(5 + content.length, content.toString('latin1').padStart(5 + content.length), 'latin1');
  message.writeUInt8(flag, 0);
  message.writeUInt32BE(content.length, 1);
  call.end(message);
  await once(call, 'close');
  session.close();
  return said;
}

void describe('a call with compressed messages', () => {
  afterEach(() => mock.restoreAll());

  async function kubeletSocket(t: TestContext): Promise<string> {
    const broker = await startTestBroker(tempDir());
    t.after(() => broker.stop());
    return broker.kubeletSocket;
  }

  for (const algorithm of ['gzip', 'deflate'] as const) {
    void it(`of a client that is set to ${algorithm} is refused, and nothing of it unpacked`, async (t) => {
      const socket = await kubeletSocket(t);
      const unpackers = (['createGunzip', 'createInflate'] as const).map((name) => mock.method(zlib, name));
      const client = new Client(`unix:${socket}`, credentials.createInsecure(), {
        'grpc.use_local_subchannel_pool': 1,
        'grpc.default_compression_algorithm': compressionAlgorithms[algorithm],
      });
      t.after(() => client.close());
      const failure = await new Promise<ServiceError | null>((resolve) => {
        client.makeUnaryRequest(path, requestSerialize, responseDeserialize, REQUEST, (ended) => resolve(ended));
      });
      assert.equal(failure?.code, status.UNIMPLEMENTED);
      assert.match(failure.details, /compressed requests are not taken/);
      assert.deepEqual(
        unpackers.map((one) => one.mock.callCount()),
        [0, 0],
      );
    });
  }

  void it('is told which encoding is taken, with an answer that is not compressed', async (t) => {
    const said = await answerTo(await kubeletSocket(t), { 'grpc-encoding': 'gzip' }, 1);
    assert.equal(said['grpc-status'], String(status.UNIMPLEMENTED));
    assert.equal(said['grpc-accept-encoding'], 'identity');
    assert.equal(said['grpc-encoding'], undefined);
  });

  void it('that names no compression is refused as a broken one', async (t) => {
    const socket = await kubeletSocket(t);
    for (const headers of [{}, { 'grpc-encoding': 'identity' }]) {
      const said = await answerTo(socket, headers, 1);
      assert.equal(said['grpc-status'], String(status.INTERNAL));
      assert.match(decodeURI(said['grpc-message'] as string), /marked as compressed/);
    }
  });

  void it('is another one than that of a client which could take compressed answers', async (t) => {
    const said = await answerTo(await kubeletSocket(t), { 'grpc-accept-encoding': 'gzip, identity' }, 0);
    assert.match(decodeURI(said['grpc-message'] as string), /^VERSION_UNSUPPORTED/);
  });
});
