import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { seededRandom } from '../../../support/seeded-random.js';
import { encodeFrame, encodeHeaders, FLAG, FRAME, PREFACE } from '../../../../src/platform/http2/frames.js';
import { BorderBed, framesOf, trailers } from '../../../support/http2/border-bed.js';
import { guardSettings } from '../../../support/http2/guard-settings.js';
import { HpackClient } from '../../../support/http2/hpack-client.js';
import { message, number32, request, requestBlock, settings } from '../../../support/http2/raw-peer.js';
import { HeldTurns, KeptAccount, resting } from '../../../support/http2/read-pace.js';

const PING = encodeFrame(FRAME.PING, 0, 0, Buffer.alloc(8));

/** The bytes of a client with a rich life, all with one authority. */
function life(seed: number, authority: string): Buffer {
  const random = seededRandom(seed);
  const hpack = new HpackClient(random);
  const parts: Buffer[] = [PREFACE, settings([4, 100_000])];
  for (let stream = 1; stream < 30; stream += 2) {
    const block = hpack.block([
      [':method', 'POST'],
      [':path', '/x'],
      [':authority', authority],
      ['user-agent', `grpc/${Math.floor(random.next() * 3)}`],
    ]);
    const cut = Math.floor(random.next() * block.length);
    const headers =
      random.next() < 0.5
        ? encodeHeaders(0, stream, block)
        : [
            encodeFrame(
              FRAME.HEADERS,
              FLAG.PADDED,
              stream,
              Buffer.concat([Buffer.from([1]), block.subarray(0, cut), Buffer.alloc(1)]),
            ),
            encodeFrame(FRAME.CONTINUATION, FLAG.END_HEADERS, stream, block.subarray(cut)),
          ];
    parts.push(
      ...headers,
      encodeFrame(FRAME.DATA, FLAG.END_STREAM, stream, message(Buffer.alloc(Math.floor(random.next() * 5000)))),
    );
    if (random.next() < 0.3) parts.push(PING, encodeFrame(FRAME.WINDOW_UPDATE, 0, 0, number32(1000)));
  }
  return Buffer.concat(parts);
}

async function throughBorder(bytes: Buffer, cuts: readonly number[]): Promise<Buffer> {
  const bed = new BorderBed().serve();
  let from = 0;
  for (const cut of [...cuts].sort((a, b) => a - b)) {
    if (cut <= from || cut >= bytes.length) continue;
    bed.client.write(bytes.subarray(from, cut));
    from = cut;
  }
  await bed.send(bytes.subarray(from));
  assert.deepEqual(bed.codes, []);
  bed.border.destroy();
  return bed.servedBytes;
}

void describe('the border', () => {
  const cuts = fc.array(fc.integer({ min: 1, max: 40_000 }), { maxLength: 60 });

  void it('passes a client that needs nothing octet for octet, however it is cut', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer(), cuts, async (seed, at) => {
        const bytes = life(seed, 'localhost');
        assert.deepEqual(await throughBorder(bytes, at), bytes);
      }),
    );
  });

  void it('gives the server the same octets however a client that needs repair is cut', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer(), cuts, async (seed, at) => {
        const bytes = life(seed, '/run/raw.sock');
        assert.deepEqual(await throughBorder(bytes, at), await throughBorder(bytes, []));
      }),
      { numRuns: 40 },
    );
  });

  void it('passes what the server answers octet for octet', async () => {
    const bed = await new BorderBed().serve().greet();
    const answer = Buffer.concat([trailers(1), encodeFrame(FRAME.DATA, 0, 1, Buffer.alloc(3000, 7)), PING]);
    await bed.answer(...[...answer].map((octet) => Buffer.from([octet])));
    assert.deepEqual(Buffer.concat(bed.answered), Buffer.concat([settings(), answer]));
    bed.border.destroy();
  });

  void it('stops reading the client while the server does not read, and goes on when it does', async () => {
    const bed = new BorderBed({ frames: 1e9 });
    const data = encodeFrame(FRAME.DATA, 0, 1, Buffer.alloc(16_000, 0xff));
    await bed.send(PREFACE, settings(), ...encodeHeaders(0, 1, requestBlock('localhost')));
    for (let turns = 0; turns < 200; turns++) await bed.send(data);
    assert.ok(bed.border.readableLength < 200_000, `${bed.border.readableLength} octets are held for the server`);
    assert.ok(bed.client.writableLength > 2_000_000);
    bed.serve();
    for (let turns = 0; turns < 400; turns++) await bed.settle();
    assert.equal(bed.servedBytes.length, PREFACE.length + 9 + 9 + requestBlock('localhost').length + 200 * data.length);
    bed.border.destroy();
  });

  void it('is not read for as long as the pace of frames and reads that no call earned says', async () => {
    const told: number[] = [];
    const bed = await new BorderBed(
      {},
      resting((count) => told.push(count) * 500),
    )
      .serve()
      .greet();
    await bed.send(Buffer.concat(Array.from({ length: 28 }, () => PING)));
    assert.deepEqual(told, []);
    await bed.send(Buffer.concat(Array.from({ length: 6 }, () => PING)));
    // Three frames, and half a read.
    assert.deepEqual(told, [6]);
    const before = bed.servedBytes.length;
    await bed.send(PING);
    await bed.clock.advance(499);
    assert.equal(bed.servedBytes.length, before);
    await bed.clock.advance(1);
    await bed.settle();
    assert.equal(bed.servedBytes.length, before + PING.length);
    assert.deepEqual(told, [6, 7]);
    bed.border.destroy();
  });

  void it('takes up each read in its turn, and reads nothing before', async () => {
    const turns = new HeldTurns();
    const bed = new BorderBed({}, turns).serve();
    await bed.send(PREFACE, settings());
    await bed.answer(settings());
    assert.deepEqual([bed.servedBytes.length, turns.waiting.length], [0, 1]);
    // Nobody is late whose turn has not come.
    await bed.pass(2 * guardSettings.prefaceMs);
    assert.deepEqual(bed.codes, []);
    while (turns.waiting.length > 0) {
      turns.waiting.shift()?.();
      await bed.settle();
    }
    assert.deepEqual(bed.servedBytes, Buffer.concat([PREFACE, settings()]));
    await bed.send(PING);
    bed.border.destroy();
    turns.waiting.shift()?.();
    assert.equal(bed.servedBytes.length, PREFACE.length + settings().length);
  });

  void it('ends a client that keeps much of what its user may, and tells what it has let go', async () => {
    const pace = new KeptAccount(40_000);
    const [first, second] = [new BorderBed({}, pace).serve(), new BorderBed({}, pace).serve()];
    await first.greet();
    await second.greet();
    const begun = (stream: number, bytes: number): Buffer =>
      Buffer.concat([
        ...encodeHeaders(0, stream, requestBlock('/raw')),
        encodeFrame(FRAME.DATA, 0, stream, message(Buffer.alloc(bytes))),
      ]);
    await first.send(begun(1, 12_000), begun(3, 12_000), begun(5, 12_000));
    await second.send(begun(1, 6_000));
    assert.deepEqual([...first.codes, ...second.codes], [], 'the second keeps little');
    assert.ok(pace.bytes > 40_000 && pace.bytes < 44_000);
    await first.send(PING);
    assert.deepEqual(first.codes, ['CALL_FLOOD']);
    assert.ok(pace.bytes > 6_000 && pace.bytes < 8_000);
    await second.answer(trailers(1), encodeFrame(FRAME.RST_STREAM, 0, 1, number32(0)));
    assert.deepEqual(pace.bytes, 0, 'the server has answered, and let it go');
    await second.send(Buffer.concat(encodeHeaders(0, 3, requestBlock('/raw'))).subarray(0, 20));
    assert.notEqual(pace.bytes, 0, 'a frame that is not whole');
    second.border.destroy();
    assert.equal(pace.bytes, 0);
  });

  void it('takes no more from the server, and reads no more, while the client does not read', async () => {
    const bed = await new BorderBed().serve().greet();
    bed.client.pause();
    let written = 0;
    bed.border.write(Buffer.concat([encodeFrame(FRAME.DATA, 0, 1, Buffer.alloc(100_000))]), () => written++);
    bed.border.write(trailers(1), () => written++);
    await bed.settle();
    assert.ok(written < 2);
    await bed.send(PING);
    const before = bed.served.length;
    await bed.send(PING, PING);
    assert.equal(bed.served.length, before);
    bed.client.resume();
    for (let turns = 0; turns < 20; turns++) await bed.settle();
    assert.equal(written, 2);
    assert.equal(
      framesOf(bed.servedBytes.subarray(PREFACE.length)).filter(({ type }) => type === FRAME.PING).length,
      3,
    );
    bed.border.destroy();
  });

  void it('ends a client that leaves more unread than may wait', async () => {
    const bed = await new BorderBed({ unreadBytes: 50_000 }).serve().greet();
    bed.client.pause();
    await bed.answer(encodeFrame(FRAME.DATA, 0, 1, Buffer.alloc(49_000)));
    assert.deepEqual(bed.codes, []);
    const other = await new BorderBed({ unreadBytes: 50_000 }).serve().greet();
    other.client.pause();
    await other.answer(encodeFrame(FRAME.DATA, 0, 1, Buffer.alloc(90_000)), PING);
    assert.deepEqual(other.codes, ['UNREAD_BYTES']);
    bed.border.destroy();
  });

  void it('closes the socket when the server is done, and the server when the socket is closed', async () => {
    const bed = await new BorderBed().serve().greet();
    bed.border.end();
    await bed.settle();
    assert.equal(bed.client.readableEnded, true);
    bed.client.end();
    await bed.settle();
    assert.equal(bed.isServerEnded, true);
    assert.equal(bed.border.destroyed, true);
    assert.equal(bed.clock.pending, 0);
  });

  void it('is destroyed without an error when the socket fails, and destroys the socket with itself', async () => {
    const bed = await new BorderBed().serve().greet();
    const errors: unknown[] = [];
    bed.border.on('error', (error) => errors.push(error));
    bed.socket.destroy(new Error('reset'));
    await bed.settle();
    assert.equal(bed.border.destroyed, true);
    const other = await new BorderBed().serve().greet();
    other.border.destroy(new Error('the server failed'));
    other.border.write(PING);
    await other.settle();
    assert.equal(other.socket.destroyed, true);
    assert.deepEqual(errors, []);
    assert.deepEqual([bed.clock.pending, other.clock.pending], [0, 0]);
    assert.deepEqual([...bed.ends, ...other.ends], []);
  });

  void it('reports an end once, tells the peer, and takes nothing more', async () => {
    const bed = await new BorderBed({ pings: 2 }).serve().greet();
    await bed.send(PING, PING, PING, PING, PING);
    assert.deepEqual(bed.codes, ['PING_FLOOD']);
    assert.match(bed.ends[0]!.message, /3 PING frames within 10 s where its work allows 2$/);
    assert.equal(bed.answers.at(-1)?.type, FRAME.GOAWAY);
    assert.equal(bed.clock.pending, 0);
  });

  void it('puts no GOAWAY into the middle of a frame of the server', async () => {
    const bed = await new BorderBed({ pings: 0 }).serve().greet();
    await bed.answer(encodeFrame(FRAME.DATA, 0, 1, Buffer.alloc(30)).subarray(0, 20));
    await bed.send(PING);
    assert.equal(bed.ends.length, 1);
    assert.deepEqual(
      bed.answers.map(({ type }) => type),
      [FRAME.SETTINGS, FRAME.DATA],
    );
  });

  void it('ends a client whose server gave it up', async () => {
    const bed = await new BorderBed().serve().greet();
    await bed.answer(encodeFrame(FRAME.GOAWAY, 0, 0, Buffer.concat([number32(0), number32(1)])));
    assert.deepEqual(bed.ends, [
      { code: 'PROTOCOL', message: 'the peer broke the protocol: the server gave it up with HTTP/2 error 1' },
    ]);
  });

  void it('lets a server go that says goodbye without an error', async () => {
    const bed = await new BorderBed().serve().greet();
    await bed.answer(encodeFrame(FRAME.GOAWAY, 0, 0, Buffer.alloc(8)));
    assert.equal(bed.border.destroyed, false);
    bed.border.destroy();
  });
});

void describe('the deadlines of a border', () => {
  const headers = encodeFrame(FRAME.HEADERS, FLAG.END_HEADERS, 1, requestBlock('localhost'));
  const rows: readonly {
    readonly code: string;
    readonly ms: number;
    readonly does: (bed: BorderBed) => Promise<void>;
  }[] = [
    { code: 'SLOW_PREFACE', ms: guardSettings.prefaceMs, does: (bed) => bed.send(PREFACE.subarray(0, 5)) },
    {
      code: 'SLOW_HEADERS',
      ms: guardSettings.headersMs,
      does: async (bed) => (await bed.greet()).send(headers.subarray(0, 12)),
    },
    { code: 'HALF_OPEN_CALL', ms: guardSettings.halfOpenMs, does: async (bed) => (await bed.greet()).send(headers) },
    {
      code: 'UNREAD_BYTES',
      ms: guardSettings.unreadMs,
      does: async (bed) => {
        await bed.greet();
        bed.client.pause();
        await bed.answer(encodeFrame(FRAME.DATA, 0, 1, Buffer.alloc(200_000)), PING);
      },
    },
    {
      code: 'HALF_CLOSED',
      ms: guardSettings.halfClosedMs,
      does: async (bed) => {
        await bed.greet();
        bed.border.end();
        await bed.settle();
      },
    },
  ];
  for (const { code, ms, does } of rows) {
    void it(`end it with ${code} after ${ms} ms, not before, and leave no timer`, async () => {
      const bed = new BorderBed().serve();
      await does(bed);
      await bed.pass(ms - 1);
      assert.deepEqual(bed.codes, []);
      await bed.pass(3);
      assert.deepEqual(bed.codes, [code]);
      assert.equal(bed.border.destroyed, true);
      assert.equal(bed.clock.pending, 0);
    });
  }

  void it('need one timer only, whatever the client does', async () => {
    const bed = await new BorderBed().serve().greet();
    for (let stream = 1; stream < 200; stream += 2) await bed.send(request(stream, requestBlock('localhost')));
    assert.equal(bed.clock.pending, 1);
    bed.border.destroy();
    assert.equal(bed.clock.pending, 0);
  });

  void it('do not end a client whose octets had come before our late look', async () => {
    const bed = await new BorderBed().serve().greet();
    await bed.send(headers);
    bed.clock.alarm(guardSettings.halfOpenMs, () =>
      bed.client.write(encodeFrame(FRAME.DATA, FLAG.END_STREAM, 1, PING)),
    );
    await bed.pass(guardSettings.halfOpenMs + 50);
    assert.deepEqual(bed.codes, []);
    bed.border.destroy();
  });

  void it('do not end a client that calls again and again', async () => {
    const bed = await new BorderBed({ idleMs: 2000, ageMs: 1e9 }).serve().greet();
    for (let stream = 1; stream < 100; stream += 2) {
      await bed.send(request(stream, requestBlock('/raw')));
      await bed.pass(1900);
      await bed.answer(trailers(stream));
    }
    assert.deepEqual(bed.codes, []);
    bed.border.destroy();
  });

  for (const [code, guard] of [
    ['IDLE', { idleMs: 4000 }],
    ['TOO_OLD', { ageMs: 4000 }],
  ] as const) {
    void it(`of ${code} ask the peer to leave, and close a moment later`, async () => {
      const bed = await new BorderBed(guard).serve().greet();
      await bed.pass(4002);
      assert.deepEqual(bed.codes, [code]);
      assert.equal(bed.border.destroyed, false);
      assert.equal(bed.answers.at(-1)?.payload.readUInt32BE(0), 2 ** 31 - 1);
      await bed.pass(1000);
      assert.equal(bed.border.destroyed, true);
      assert.equal(bed.clock.pending, 0);
    });
  }
});

void describe('a border that retires', () => {
  void it('lets open calls finish, those under way too, and closes then', async () => {
    const bed = await new BorderBed().serve().greet();
    await bed.send(request(1, requestBlock('localhost')));
    bed.border.retire();
    bed.border.retire();
    await bed.send(request(3, requestBlock('localhost')));
    assert.deepEqual(bed.servedCalls, [1, 3]);
    await bed.pass(5000);
    await bed.answer(trailers(1));
    assert.equal(bed.border.destroyed, false);
    await bed.answer(trailers(3));
    await bed.settle();
    assert.equal(bed.border.destroyed, true);
    assert.deepEqual(
      bed.answers.map(({ type }) => type),
      [FRAME.SETTINGS, FRAME.GOAWAY, FRAME.HEADERS, FRAME.HEADERS, FRAME.GOAWAY],
    );
    assert.deepEqual(bed.codes, []);
  });

  void it('cuts off calls that do not finish', async () => {
    const bed = await new BorderBed().serve().greet();
    await bed.send(request(1, requestBlock('localhost')));
    bed.border.retire();
    await bed.pass(30_002);
    assert.deepEqual(bed.ends, [{ code: 'TOO_OLD', message: 'calls were not finished within 30 s' }]);
    assert.equal(bed.clock.pending, 0);
  });
});

void describe('a throttled border', () => {
  void it('lets one call pass each time, in order, and loses none', async () => {
    const bed = await new BorderBed().serve().greet();
    bed.border.throttle(100);
    const calls = [1, 3, 5, 7].map((stream) => request(stream, requestBlock('/raw')));
    await bed.send(Buffer.concat(calls));
    assert.deepEqual(bed.servedCalls, []);
    for (const seen of [[1], [1, 3], [1, 3, 5], [1, 3, 5, 7]]) {
      await bed.pass(100);
      assert.deepEqual(bed.servedCalls, seen);
    }
    assert.deepEqual(bed.codes, []);
    bed.border.destroy();
    assert.equal(bed.clock.pending, 0);
  });

  void it('does not blame the client for what it does not read itself', async () => {
    const bed = await new BorderBed({ halfOpenMs: 150 }).serve().greet();
    bed.border.throttle(100);
    const open = (stream: number): Buffer => encodeFrame(FRAME.HEADERS, FLAG.END_HEADERS, stream, requestBlock('/raw'));
    const end = (stream: number): Buffer => encodeFrame(FRAME.DATA, FLAG.END_STREAM, stream, PING);
    await bed.send(Buffer.concat([open(1), open(3), open(5), open(7), end(1), end(3), end(5), end(7)]));
    await bed.pass(1000);
    assert.deepEqual(bed.servedCalls, [1, 3, 5, 7]);
    assert.deepEqual(bed.codes, []);
    bed.border.destroy();
  });

  void it('lets the first call of a connection pass at once where it begins so', async () => {
    const bed = new BorderBed().serve();
    bed.border.throttleAfterOneCall(100);
    await bed.greet();
    await bed.send(Buffer.concat([1, 3, 5].map((stream) => request(stream, requestBlock('/raw')))));
    assert.deepEqual(bed.servedCalls, [1]);
    await bed.pass(100);
    assert.deepEqual(bed.servedCalls, [1, 3]);
    await bed.pass(100);
    assert.deepEqual(bed.servedCalls, [1, 3, 5]);
    bed.border.destroy();
    assert.equal(bed.clock.pending, 0);
  });

  void it('is not read before its turn where that is later, and not blamed for it', async () => {
    const bed = new BorderBed({ prefaceMs: 150 }).serve();
    bed.border.readLater(200);
    const greeted = bed.greet();
    await bed.send(request(1, requestBlock('/raw')));
    await bed.pass(199);
    assert.deepEqual(bed.servedCalls, []);
    await bed.pass(1);
    await greeted;
    assert.deepEqual(bed.servedCalls, [1]);
    await bed.pass(100);
    assert.deepEqual(bed.codes, []);
    bed.border.destroy();
    assert.equal(bed.clock.pending, 0);
  });

  void it('has deadlines where it is held back after each read', async () => {
    const bed = await new BorderBed(
      { halfOpenMs: 1000 },
      resting(() => 500),
    )
      .serve()
      .greet();
    const junk = Buffer.concat(Array.from({ length: 120 }, () => encodeFrame(0x42, 0, 0, Buffer.alloc(0))));
    await bed.send(Buffer.concat(encodeHeaders(0, 1, requestBlock('/raw'))), junk);
    for (let looks = 0; looks < 6 && bed.codes.length === 0; looks++) {
      await bed.send(junk);
      await bed.pass(499);
      await bed.send(junk);
      await bed.pass(2);
    }
    assert.deepEqual(bed.codes, ['HALF_OPEN_CALL']);
    bed.border.destroy();
  });

  void it('still ends a client that floods', async () => {
    const bed = await new BorderBed({ pings: 10 }).serve().greet();
    bed.border.throttle(100);
    await bed.send(Buffer.concat(Array.from({ length: 20 }, () => PING)));
    await bed.pass(100);
    assert.equal(bed.ends[0]?.code, 'PING_FLOOD');
  });
});
