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

const COMPRESSED = Buffer.concat([
  requestBlock('localhost', '/v1beta1.Registration/Register'),
  literal('grpc-encoding', 'gzip'),
]);

/** A request whose message would be larger than any that is taken. */
function tooLarge(stream: number): Buffer {
  const prefix = Buffer.from([0, 1, 0, 0, 0]);
  const block = requestBlock('localhost', '/v1beta1.Registration/Register');
  return Buffer.concat([
    encodeFrame(FRAME.HEADERS, FLAG.END_HEADERS, stream, block),
    encodeFrame(FRAME.DATA, FLAG.END_STREAM, stream, prefix),
  ]);
}

void describe('a call that reaches no handler', () => {
  for (const [what, calls] of [
    ['of a method that is not there', (stream: number) => request(stream, UNSERVED)],
    ['that is not gRPC', (stream: number) => request(stream, NOT_GRPC)],
    ['that is compressed', (stream: number) => request(stream, COMPRESSED)],
    ['whose message is too large', tooLarge],
  ] as const) {
    void it(`${what} counts as refused: after sixteen of them the peer is read ten times a second`, async (t) => {
      const broker = await startTestBroker(tempDir());
      t.after(() => broker.stop());
      const peer = await RawPeer.greeted(broker.kubeletSocket);
      t.after(() => peer.destroy());
      const ask = async (from: number, times: number): Promise<void> => {
        for (let nth = 0; nth < times; nth++) {
          const stream = 1 + 2 * (from + nth);
          peer.write(calls(stream));
          await peer.answer(stream);
        }
      };
      await ask(0, 16);
      const begun = performance.now();
      await ask(16, 4);
      const tookMs = performance.now() - begun;
      assert.ok(tookMs > 300, `four calls took ${String(tookMs)} ms`);
    });
  }
});

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
