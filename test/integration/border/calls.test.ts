import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { encodeFrame, encodeHeaders, FLAG, FRAME, SETTING } from '../../../src/platform/http2/frames.js';
import { eventually } from '../../support/eventually.js';
import { EchoServer } from '../../support/http2/echo-server.js';
import { EchoClient } from '../../support/http2/echo-client.js';
import { indexed, literal, sizeUpdate } from '../../support/http2/hpack-writer.js';
import { message, RawPeer, request, requestBlock } from '../../support/http2/raw-peer.js';

void describe('a grpc-js server behind the border', () => {
  const server = new EchoServer({ guard: { windowMs: 60_000 } });
  before(() => server.listen());
  after(() => server.close());

  const authorities: readonly { readonly sent: string | undefined; readonly seen: string }[] = [
    { sent: '/var/lib/kubelet/device-plugins/kubelet.sock', seen: 'localhost' },
    { sent: '', seen: 'localhost' },
    { sent: undefined, seen: 'localhost' },
    { sent: 'a b', seen: 'localhost' },
    { sent: 'unix:/run/x.sock', seen: 'localhost' },
    { sent: '@abstract', seen: 'localhost' },
    { sent: 'localhost', seen: 'localhost' },
    { sent: '%2Fvar%2Flib%2Fx.sock', seen: '%2Fvar%2Flib%2Fx.sock' },
    { sent: '[::1]:50051', seen: '[::1]:50051' },
  ];
  for (const { sent, seen } of authorities) {
    void it(`answers a call with the authority ${JSON.stringify(sent)} and sees ${seen}`, async () => {
      const peer = await RawPeer.greeted(server.path);
      peer.write(request(1, requestBlock(sent)));
      assert.equal(await peer.answer(1), 'ping');
      assert.equal(server.hosts.at(-1), seen);
      peer.destroy();
    });
  }

  void it('answers calls of a client that keeps its raw-path authority in the table', async () => {
    const peer = await RawPeer.greeted(server.path);
    const first = Buffer.concat([
      indexed(3),
      indexed(6),
      literal(4, '/t.Echo/Unary', 'incremental', true),
      literal(1, '/run/a.sock', 'incremental', true),
      literal(31, 'application/grpc', 'incremental', true),
      literal('te', 'trailers', 'incremental', true),
    ]);
    const again = Buffer.concat([3, 6, 65, 64, 63, 62].map(indexed));
    peer.write(request(1, first), request(3, again), request(5, again));
    for (const stream of [1, 3, 5]) assert.equal(await peer.answer(stream), 'ping');
    // The client forgets its table and fills it anew.
    peer.write(request(7, Buffer.concat([sizeUpdate(0), sizeUpdate(300), first])), request(9, again));
    for (const stream of [7, 9]) assert.equal(await peer.answer(stream), 'ping');
    peer.destroy();
  });

  void it('answers calls of a client whose first calls needed no change and a later one does', async () => {
    const peer = await RawPeer.greeted(server.path);
    const block = (authority: string): Buffer =>
      Buffer.concat([
        indexed(3),
        indexed(6),
        literal(4, '/t.Echo/Unary', 'incremental'),
        literal(1, authority, 'incremental'),
        literal(31, 'application/grpc', 'incremental'),
        literal('te', 'trailers', 'incremental'),
      ]);
    const again = Buffer.concat([3, 6, 65, 64, 63, 62].map(indexed));
    peer.write(request(1, block('good')), request(3, again), request(5, block('/bad')), request(7, again));
    peer.write(request(9, block('good')), request(11, again));
    for (const stream of [1, 3, 5, 7, 9, 11]) assert.equal(await peer.answer(stream), 'ping');
    assert.deepEqual(server.hosts.slice(-6), ['good', 'good', 'localhost', 'localhost', 'good', 'good']);
    peer.destroy();
  });

  void it('answers a call whose header block is split over CONTINUATION, padded and with priority', async () => {
    const peer = await RawPeer.greeted(server.path);
    for (const [stream, authority] of [
      [1, 'good'],
      [3, '/bad/path'],
      [5, undefined],
    ] as const) {
      const block = requestBlock(authority);
      const padded = Buffer.concat([Buffer.from([7, 0, 0, 0, 0, 15]), block.subarray(0, 20), Buffer.alloc(7)]);
      peer.write(encodeFrame(FRAME.HEADERS, FLAG.PADDED | FLAG.PRIORITY, stream, padded));
      peer.write(encodeFrame(FRAME.CONTINUATION, 0, stream, block.subarray(20, 21)));
      peer.write(encodeFrame(FRAME.CONTINUATION, FLAG.END_HEADERS, stream, block.subarray(21)));
      const data = message(Buffer.from(`number ${stream}`));
      const paddedData = Buffer.concat([Buffer.from([3]), data, Buffer.alloc(3)]);
      peer.write(encodeFrame(FRAME.DATA, FLAG.PADDED | FLAG.END_STREAM, stream, paddedData));
      assert.equal(await peer.answer(stream), `number ${stream}`);
    }
    peer.destroy();
  });

  void it('answers a call of a client that sends octet by octet', async () => {
    const peer = await RawPeer.greeted(server.path);
    peer.socket.setNoDelay(true);
    for (const octet of request(1, requestBlock('/raw/path'))) peer.write(Buffer.from([octet]));
    assert.equal(await peer.answer(1), 'ping');
    peer.destroy();
  });

  void it('passes a header list larger than one frame', async () => {
    const peer = await RawPeer.greeted(server.path, [SETTING.MAX_FRAME_SIZE, 16_384]);
    const block = Buffer.concat([requestBlock('/raw'), literal('x-large', 'v'.repeat(15_000))]);
    peer.write(...encodeHeaders(0, 1, block), encodeFrame(FRAME.DATA, FLAG.END_STREAM, 1, message(Buffer.from('ok'))));
    assert.equal(await peer.answer(1), 'ok');
    peer.destroy();
  });

  void it('answers 6,000 calls of one grpc-js client on one connection', async () => {
    const client = new EchoClient(server.path);
    for (let round = 0; round < 60; round++) {
      await Promise.all(Array.from({ length: 100 }, () => client.unary(Buffer.from('x'))));
    }
    assert.equal(server.ends.length, 0);
    client.close();
  });

  void it('lets a large answer through to a grpc-js client', async () => {
    const client = new EchoClient(server.path);
    assert.equal(await client.flow(3000), 3000 * 1024);
    client.close();
  });

  void it('loses no call of a client whose connections grow old again and again', async (t) => {
    const ageing = new EchoServer({ guard: { ageMs: 100 } });
    await ageing.listen();
    t.after(() => ageing.close());
    const client = new EchoClient(ageing.path);
    let left = 2000;
    const caller = async (): Promise<void> => {
      while (left-- > 0 || ageing.ends.length < 5) {
        assert.equal((await client.unary(Buffer.from('x'))).toString(), 'x');
      }
    };
    await Promise.all(Array.from({ length: 8 }, caller));
    assert.deepEqual([...new Set(ageing.ends.map(({ code }) => code))], ['TOO_OLD']);
    client.close();
    await eventually('all sessions are gone', () => ageing.sessions === 0);
  });
});
