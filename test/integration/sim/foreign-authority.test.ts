import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { PluginServer } from '../../../src/device-plugin/plugin-server.js';
import { eventually } from '../../support/eventually.js';
import { echoService } from '../../support/http2/echo-server.js';
import { RawPeer, request, requestBlock } from '../../support/http2/raw-peer.js';
import { tempDir } from '../../support/temp-dir.js';

void describe('the socket of a plugin, and that of a simulated kubelet', () => {
  let server: PluginServer;
  before(async () => {
    server = await PluginServer.listen(path.join(tempDir(), 's'), (grpc) =>
      grpc.addService(
        { unary: echoService.unary },
        {
          unary: (call: { request: Buffer }, done: (error: null, answer: Buffer) => void) => done(null, call.request),
        },
      ),
    );
  });
  after(() => server.close());

  for (const authority of ['/var/lib/kubelet/device-plugins/kubelet.sock', '', undefined, 'localhost']) {
    void it(`answers a client that sends ${JSON.stringify(authority)} as :authority, as a server in Go does`, async () => {
      const peer = await RawPeer.greeted(server.path);
      peer.write(request(1, requestBlock(authority)));
      assert.equal(await peer.answer(1), 'ping');
      peer.destroy();
    });
  }

  void it('keeps a connection that was cut off out of its count', async () => {
    const peer = await RawPeer.greeted(server.path);
    peer.write(request(1, requestBlock('/run/x.sock')));
    assert.equal(await peer.answer(1), 'ping');
    server.cutConnections();
    await eventually('no connection', () => server.connections === 0);
  });
});
