import type { ServerUnaryCall } from '@grpc/grpc-js';
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import path from 'node:path';
import { describe, it } from 'node:test';
import { GrpcDoor } from '../../../src/platform/grpc/grpc-door.js';
import type { RequestBytes } from '../../../src/platform/grpc/request-bytes.js';
import { encodeFrame, FLAG, FRAME } from '../../../src/platform/http2/frames.js';
import { systemClock } from '../../../src/platform/time/system-clock.js';
import { eventually } from '../../support/eventually.js';
import { message, RawPeer, requestBlock } from '../../support/http2/raw-peer.js';
import { tempDir } from '../../support/temp-dir.js';
import { usedBytes } from '../../support/used-memory.js';

const CALLS = 32;
/** Within the window that a connection has at its beginning. */
const REQUEST_BYTES = 60 * 1024;
const FRAME_BYTES = 16_384;
const PATH = '/t.Echo/Waits';

describe('a call that waits for long', () => {
  it('keeps nothing of a request that its handler has read', async (t) => {
    const socket = path.join(tempDir(), 's');
    const door = new GrpcDoor({
      clock: systemClock,
      accept: (stream) => ({ stream, caller: undefined, slowDown: () => undefined, answered: () => undefined }),
      ...{ streams: CALLS, maxRequestBytes: REQUEST_BYTES },
    });
    let [read, waiting] = [0, 0];
    const handler = (call: ServerUnaryCall<RequestBytes, Buffer>): void => {
      waiting += 1;
      read += call.request.take().length;
    };
    const method = { path: PATH, requestStream: false, responseStream: false };
    door.serveBytes([[method, handler]]);
    const server = createServer(door.take);
    await new Promise<void>((resolve) => server.listen(socket, resolve));
    const peers = await Promise.all(Array.from({ length: CALLS }, () => RawPeer.greeted(socket)));
    t.after(() => {
      for (const peer of peers) peer.destroy();
      door.destroy();
      server.close();
    });
    const content = message(Buffer.alloc(REQUEST_BYTES, 1));
    const before = usedBytes();
    for (const peer of peers) {
      peer.write(encodeFrame(FRAME.HEADERS, FLAG.END_HEADERS, 1, requestBlock('localhost', PATH)));
      for (let from = 0; from < content.length; from += FRAME_BYTES) {
        const isLast = from + FRAME_BYTES >= content.length;
        const piece = content.subarray(from, from + FRAME_BYTES);
        peer.write(encodeFrame(FRAME.DATA, isLast ? FLAG.END_STREAM : 0, 1, piece));
      }
    }
    await eventually('all wait', () => waiting === CALLS);
    assert.equal(read, CALLS * REQUEST_BYTES);
    // Pieces that were written to sockets are let go a moment later.
    await eventually('less than half of each request is kept', () => {
      const each = Math.round((usedBytes() - before) / CALLS);
      if (each < REQUEST_BYTES / 2) return true;
      throw new Error(`each keeps ${String(each)} bytes`);
    });
  });
});
