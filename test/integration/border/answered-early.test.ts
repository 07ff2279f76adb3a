import type { handleUnaryCall, ServerDuplexStream } from '@grpc/grpc-js';
import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:net';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { GrpcDoor } from '../../../src/platform/grpc/grpc-door.js';
import { encodeFrame, FLAG, FRAME } from '../../../src/platform/http2/frames.js';
import { nextTurns } from '../../../src/platform/time/next-turn.js';
import { systemClock } from '../../../src/platform/time/system-clock.js';
import { eventually } from '../../support/eventually.js';
import { echoService } from '../../support/http2/echo-server.js';
import { literal } from '../../support/http2/hpack-writer.js';
import { message, number32, RawPeer, request, requestBlock, type SeenFrame } from '../../support/http2/raw-peer.js';
import { tempDir } from '../../support/temp-dir.js';

const PING = message(Buffer.from('ping'));
const COMPRESSED = Buffer.concat([requestBlock('localhost'), literal('grpc-encoding', 'gzip')]);
const SHORT = Buffer.concat([requestBlock('localhost'), literal('grpc-timeout', '1m')]);

function headers(stream: number, block: Buffer): Buffer {
  return encodeFrame(FRAME.HEADERS, FLAG.END_HEADERS, stream, block);
}

function data(stream: number, content: Buffer): Buffer {
  return encodeFrame(FRAME.DATA, 0, stream, content);
}

describe('a call that is answered', () => {
  const socket = path.join(tempDir(), 's');
  let door: GrpcDoor;
  let server: Server;
  /** The calls of Both that have not ended. */
  let open: ServerDuplexStream<Buffer, Buffer>[] = [];
  let handled = 0;
  /** Answers the call that waits. */
  let answer: (() => void) | undefined;

  before(async () => {
    door = new GrpcDoor({
      clock: systemClock,
      accept: (stream) => ({ stream, caller: undefined, slowDown: () => undefined, answered: () => undefined }),
      ...{ streams: 8, maxRequestBytes: 65_536 },
    });
    const unary: handleUnaryCall<Buffer, Buffer> = (call, done) => {
      handled += 1;
      if (call.request.toString() !== 'wait') done(null, call.request);
      else answer = () => done(null, call.request);
    };
    const both = (call: ServerDuplexStream<Buffer, Buffer>): void => {
      open.push(call);
      call.on('data', (bytes: Buffer) => call.write(bytes));
    };
    const asBoth = { ...echoService.flow, path: '/t.Echo/Both', requestStream: true };
    door.serve({ unary: echoService.unary, both: asBoth }, { unary, both });
    server = createServer(door.take);
    await new Promise<void>((resolve) => server.listen(socket, resolve));
  });
  after(() => {
    door.destroy();
    server.close();
  });

  const ofCall = (peer: RawPeer, stream: number): SeenFrame[] => peer.frames.filter((frame) => frame.stream === stream);

  for (const [what, frames] of [
    ['of a method that is not there', [headers(1, requestBlock('localhost', '/nobody.Serves/This'))]],
    ['that is compressed', [headers(1, COMPRESSED)]],
    ['whose message is too large', [headers(1, requestBlock('localhost')), data(1, Buffer.from([0, 1, 0, 0, 0]))]],
    ['whose time is over', [headers(1, SHORT), data(1, PING)]],
    [
      'with more than its message',
      [headers(1, requestBlock('localhost')), data(1, PING), data(1, Buffer.from([0, 1, 0, 0, 0]))],
    ],
  ] as const) {
    it(`before its request ends (${what}) is closed with that, without an error`, async (t) => {
      handled = 0;
      const peer = await RawPeer.greeted(socket);
      t.after(() => peer.destroy());
      peer.write(...frames);
      await eventually('it is closed', () => ofCall(peer, 1).length >= 2);
      const [answer, reset] = ofCall(peer, 1);
      assert.deepEqual([answer?.type, (answer?.flags ?? 0) & FLAG.END_STREAM], [FRAME.HEADERS, FLAG.END_STREAM]);
      assert.deepEqual([reset?.type, reset?.payload], [FRAME.RST_STREAM, number32(0)]);
      // The rest of the request may be on its way.
      peer.write(encodeFrame(FRAME.DATA, FLAG.END_STREAM, 1, PING), request(3, requestBlock('localhost')));
      assert.equal(await peer.answer(3), 'ping');
      assert.equal(handled, 1, 'the other one');
    });
  }

  it('and goes on in both directions stays open, until the answer has left', async (t) => {
    open = [];
    const peer = await RawPeer.greeted(socket);
    t.after(() => peer.destroy());
    peer.write(headers(1, requestBlock('localhost', '/t.Echo/Both')));
    for (let nth = 1; nth <= 3; nth += 1) {
      peer.write(data(1, PING));
      await eventually('an answer', () => ofCall(peer, 1).filter(({ type }) => type === FRAME.DATA).length === nth);
    }
    for (const call of open) call.end();
    await eventually('it is closed', () => ofCall(peer, 1).some(({ type }) => type === FRAME.RST_STREAM));
    assert.deepEqual(
      ofCall(peer, 1).map(({ type }) => type),
      [FRAME.HEADERS, FRAME.DATA, FRAME.DATA, FRAME.DATA, FRAME.HEADERS, FRAME.RST_STREAM],
    );
    assert.deepEqual(ofCall(peer, 1).at(-1)?.payload, number32(0));
  });

  it('after its request has ended is never reset', async (t) => {
    const peer = await RawPeer.greeted(socket);
    t.after(() => peer.destroy());
    const block = requestBlock('localhost');
    const calls = 400;
    for (let stream = 1; stream < calls; stream += 8) {
      peer.write(
        request(stream, block),
        request(stream + 2, requestBlock('localhost', '/nobody.Serves/This')),
        request(stream + 4, COMPRESSED),
        Buffer.concat([headers(stream + 6, block), encodeFrame(FRAME.DATA, FLAG.END_STREAM, stream + 6, PING)]),
      );
      for (const one of [0, 2, 4, 6]) await peer.answer(stream + one);
    }
    peer.write(encodeFrame(FRAME.PING, 0, 0, Buffer.alloc(8)));
    await peer.waitFor('everything before has left', ({ type }) => type === FRAME.PING);
    assert.deepEqual(
      peer.frames.filter(({ type }) => type === FRAME.RST_STREAM),
      [],
    );
  });

  it('before its request ends is not waited for when the door takes no more calls, and an answer that is given then leaves', async (t) => {
    const [peer, waiting] = [await RawPeer.greeted(socket), await RawPeer.greeted(socket)];
    t.after(() => [peer, waiting].forEach((one) => one.destroy()));
    peer.write(headers(1, SHORT));
    await eventually('it is closed', () => ofCall(peer, 1).some(({ type }) => type === FRAME.RST_STREAM));
    waiting.write(request(1, requestBlock('localhost'), Buffer.from('wait')));
    await eventually('the other one waits', () => answer !== undefined);
    const hushed = door.hush();
    // Less than the turns in which the door waits for answers to leave, and more than one needs no more.
    await nextTurns(9);
    answer?.();
    await hushed;
    await peer.closed();
    const drained = door.drain(5000);
    assert.equal(await waiting.answer(1), 'wait');
    await drained;
  });
});
