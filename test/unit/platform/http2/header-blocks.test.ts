import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { seededRandom } from '../../../support/seeded-random.js';
import { PeerFault } from '../../../../src/platform/http2/fault.js';
import {
  encodeFrame,
  encodeHeaders,
  FLAG,
  FRAME,
  HEAD_BYTES,
  readHead,
} from '../../../../src/platform/http2/frames.js';
import { HeaderBlocks, type HeaderBlock } from '../../../../src/platform/http2/header-blocks.js';
import { HpackDecoder } from '../../../../src/platform/http2/hpack-decoder.js';
import { HpackClient, type Pair } from '../../../support/http2/hpack-client.js';
import { indexed } from '../../../support/http2/hpack-writer.js';
import { requestBlock } from '../../../support/http2/raw-peer.js';

const bounds = { headerBytes: 100_000, continuations: 8 };
const take = (blocks: HeaderBlocks, frame: Buffer, opensCall = true): HeaderBlock | undefined =>
  blocks.take(readHead(frame, 0), frame, opensCall);
const takeAll = (blocks: HeaderBlocks, frames: readonly Buffer[], opensCall = true): HeaderBlock | undefined => {
  let last: HeaderBlock | undefined;
  for (const frame of frames) last = take(blocks, frame, opensCall);
  return last;
};
/** The octets of a block as a server joins them from plain frames. */
const joined = (block: HeaderBlock | undefined): Buffer =>
  Buffer.concat(block?.frames.map((frame) => frame.subarray(HEAD_BYTES)) ?? []);
const faultOf = (code: string) => (thrown: unknown) => thrown instanceof PeerFault && thrown.code === code;

void describe('header blocks', () => {
  void it('that need nothing pass as the very same frames', () => {
    const blocks = new HeaderBlocks(bounds);
    const frame = encodeFrame(FRAME.HEADERS, FLAG.END_HEADERS, 1, requestBlock('localhost'));
    const block = take(blocks, frame);
    assert.equal(block?.frames[0], frame);
    assert.equal(block.endsStream, false);
  });

  void it('that are trailers pass without an authority', () => {
    const blocks = new HeaderBlocks(bounds);
    const frame = encodeFrame(FRAME.HEADERS, FLAG.END_HEADERS | FLAG.END_STREAM, 1, indexed(2));
    assert.equal(take(blocks, frame, false)?.frames[0], frame);
  });

  void it('keep the end of the request when they are written anew', () => {
    const blocks = new HeaderBlocks(bounds);
    const flags = FLAG.END_HEADERS | FLAG.END_STREAM | FLAG.PADDED;
    const padded = Buffer.concat([Buffer.from([2]), requestBlock('/raw'), Buffer.alloc(2)]);
    const block = take(blocks, encodeFrame(FRAME.HEADERS, flags, 7, padded));
    const head = readHead(block!.frames[0]!, 0);
    assert.deepEqual([head.flags, head.stream], [FLAG.END_HEADERS | FLAG.END_STREAM, 7]);
  });

  void it('reach a server with its own table as the client meant them, with an acceptable authority', () => {
    const authority = fc.constantFrom('localhost', '/raw/path', '', 'a b', 'good', undefined);
    const custom = fc.uint8Array({ maxLength: 300 }).map((octets) => Buffer.from(octets).toString('latin1'));
    const requests = fc.array(fc.tuple(authority, custom), { minLength: 1, maxLength: 15 });
    fc.assert(
      fc.property(fc.integer(), requests, (seed, all) => {
        const random = seededRandom(seed);
        const client = new HpackClient(random);
        const blocks = new HeaderBlocks(bounds);
        const server = new HpackDecoder(1_000_000);
        for (const [at, [name, value]] of all.entries()) {
          const sent: Pair[] = [
            [':method', 'POST'],
            ...(name === undefined ? [] : [[':authority', name] as const]),
            ['x-custom', value],
          ];
          if (random.next() < 0.2) {
            const limit = Math.floor(random.next() * 5000);
            for (const end of [client, blocks, server]) end.limitTable(limit);
          }
          const frames = encodeHeaders(0, 2 * at + 1, client.block(sent));
          const seen = server.decode(joined(takeAll(blocks, frames)));
          const pairs = seen.map((field) => [field.name, field.value]);
          const expected = name !== undefined && /^[a-z]+$/.test(name) ? name : 'localhost';
          assert.deepEqual(
            pairs.filter(([field]) => field === ':authority'),
            [[':authority', expected]],
          );
          assert.deepEqual(
            pairs.filter(([field]) => field !== ':authority'),
            sent.filter(([field]) => field !== ':authority'),
          );
        }
      }),
    );
  });

  void it('are split again when they no longer fit one frame', () => {
    const blocks = new HeaderBlocks(bounds);
    const large = Buffer.concat([
      requestBlock('/raw'),
      new HpackClient(seededRandom(1)).block([['x', 'y'.repeat(40_000)]]),
    ]);
    const block = takeAll(blocks, encodeHeaders(0, 1, large));
    assert.deepEqual(
      block?.frames.map((frame) => readHead(frame, 0).type),
      [FRAME.HEADERS, FRAME.CONTINUATION, FRAME.CONTINUATION],
    );
    const fields = new HpackDecoder(100_000).decode(joined(block));
    assert.equal(fields.find(({ name }) => name === ':authority')?.value, 'localhost');
  });

  const wrong = [
    { why: 'CONTINUATION without HEADERS', frame: encodeFrame(FRAME.CONTINUATION, 0, 1, indexed(2)) },
    { why: 'HEADERS on stream 0', frame: encodeFrame(FRAME.HEADERS, FLAG.END_HEADERS, 0, indexed(2)) },
    {
      why: 'more padding than payload',
      frame: encodeFrame(FRAME.HEADERS, FLAG.END_HEADERS | FLAG.PADDED, 1, Buffer.from([5, 0x82])),
    },
    {
      why: 'a priority that is cut off',
      frame: encodeFrame(FRAME.HEADERS, FLAG.END_HEADERS | FLAG.PRIORITY, 1, Buffer.alloc(3)),
    },
    { why: 'padding without a length', frame: encodeFrame(FRAME.HEADERS, FLAG.PADDED, 1, Buffer.alloc(0)) },
  ];
  for (const { why, frame } of wrong) {
    void it(`refuse ${why}`, () => {
      assert.throws(() => take(new HeaderBlocks(bounds), frame), faultOf('PROTOCOL'));
    });
  }

  void it('refuse CONTINUATION of another stream', () => {
    const blocks = new HeaderBlocks(bounds);
    take(blocks, encodeFrame(FRAME.HEADERS, 0, 1, indexed(2)));
    assert.equal(blocks.isOpen, true);
    assert.throws(() => take(blocks, encodeFrame(FRAME.CONTINUATION, 0, 3, indexed(2))), faultOf('PROTOCOL'));
  });

  void it('refuse more parts than allowed, and more octets', () => {
    const blocks = new HeaderBlocks({ headerBytes: 100, continuations: 2 });
    const frames = [FRAME.HEADERS, FRAME.CONTINUATION, FRAME.CONTINUATION, FRAME.CONTINUATION].map((type) =>
      encodeFrame(type, 0, 1, indexed(2)),
    );
    assert.throws(() => takeAll(blocks, frames), faultOf('CONTINUATION_FLOOD'));
    const large = encodeFrame(FRAME.HEADERS, 0, 1, Buffer.alloc(101));
    assert.throws(() => take(new HeaderBlocks({ headerBytes: 100, continuations: 2 }), large), faultOf('HEADER_BOMB'));
  });
});
