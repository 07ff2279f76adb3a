import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { encodeFrame, FLAG, FRAME } from '../../../src/platform/http2/frames.js';
import { indexed, literal } from '../../support/http2/hpack-writer.js';
import { number32, RawPeer, request, requestBlock } from '../../support/http2/raw-peer.js';
import { tempDir } from '../../support/temp-dir.js';
import { startTestBroker } from '../../support/test-broker.js';

const UNSERVED = requestBlock('localhost', '/nobody.Serves/This');
const NOT_GRPC = Buffer.concat([
  indexed(3),
  indexed(6),
  literal(':path', '/v1beta1.Registration/Register'),
  literal(':authority', 'localhost'),
  literal('content-type', 'text/plain'),
]);

void describe('a call that nobody serves', () => {
  for (const [what, block] of [
    ['of a method that is not there', UNSERVED],
    ['that is not gRPC', NOT_GRPC],
  ] as const) {
    void it(`${what} may be reset by its caller at once: the broker goes on`, async (t) => {
      const broker = await startTestBroker(tempDir());
      t.after(() => broker.stop());
      const peer = await RawPeer.greeted(broker.kubeletSocket);
      t.after(() => peer.destroy());
      peer.write(
        encodeFrame(FRAME.HEADERS, FLAG.END_HEADERS, 1, block),
        encodeFrame(FRAME.RST_STREAM, 0, 1, number32(8)),
      );
      peer.write(request(3, UNSERVED));
      await peer.answer(3);
      assert.equal(peer.isClosed, false);
    });
  }
});
