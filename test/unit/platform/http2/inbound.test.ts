import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Calls, HALF_REQUEST_BYTES } from '../../../../src/platform/http2/calls.js';
import { PeerFault } from '../../../../src/platform/http2/fault.js';
import { encodeFrame, encodeHeaders, FLAG, FRAME, PREFACE } from '../../../../src/platform/http2/frames.js';
import { Guard } from '../../../../src/platform/http2/guard.js';
import { Inbound } from '../../../../src/platform/http2/inbound.js';
import { Outbound } from '../../../../src/platform/http2/outbound.js';
import { framesOf } from '../../../support/http2/frame-list.js';
import { guardSettings } from '../../../support/http2/guard-settings.js';
import { indexed, literal, sizeUpdate } from '../../../support/http2/hpack-writer.js';
import { MirrorServer } from '../../../support/http2/mirror-server.js';
import { message, number32, request, requestBlock, settings } from '../../../support/http2/raw-peer.js';
import { trailers } from '../../../support/http2/border-bed.js';
import { usedBytes } from '../../../support/used-memory.js';

const NONE = Buffer.alloc(0);
const ACK = encodeFrame(FRAME.SETTINGS, FLAG.ACK, 0, NONE);
const OPEN_BLOCK = encodeFrame(FRAME.HEADERS, 0, 1, requestBlock('localhost'));

function bed(halfRequestBytes?: number) {
  const calls = new Calls(0, halfRequestBytes);
  const guard = new Guard(guardSettings, 0);
  const inbound = new Inbound(guardSettings, guard, calls);
  const outbound = new Outbound(guard, calls, (announced) => inbound.serverAnnounced(announced));
  return { calls, guard, inbound, outbound };
}

void describe('the input from a client', () => {
  const faults: readonly { readonly why: string; readonly sends: readonly Buffer[]; readonly says: RegExp }[] = [
    { why: 'HTTP/1.1', sends: [Buffer.from('GET / HTTP/1.1\r\n')], says: /does not begin as HTTP\/2 does/ },
    { why: 'a preface with a wrong end', sends: [PREFACE.subarray(0, 23), Buffer.from('x')], says: /does not begin/ },
    {
      why: 'PING before SETTINGS',
      sends: [PREFACE, encodeFrame(FRAME.PING, 0, 0, Buffer.alloc(8))],
      says: /first frame/,
    },
    { why: 'an acknowledgement before SETTINGS', sends: [PREFACE, ACK], says: /first frame/ },
    {
      why: 'PING inside a header block',
      sends: [PREFACE, settings(), OPEN_BLOCK, settings()],
      says: /inside a header/,
    },
    {
      why: 'HEADERS inside a header block',
      sends: [PREFACE, settings(), OPEN_BLOCK, OPEN_BLOCK],
      says: /inside a header/,
    },
    {
      why: 'PUSH_PROMISE',
      sends: [PREFACE, settings(), encodeFrame(FRAME.PUSH_PROMISE, 0, 1, Buffer.alloc(4))],
      says: /PUSH_PROMISE/,
    },
    {
      why: 'a frame larger than the server takes',
      sends: [PREFACE, settings(), encodeFrame(FRAME.DATA, 0, 1, Buffer.alloc(16_385))],
      says: /a frame of 16385 bytes/,
    },
  ];
  void it('holds a frame that comes octet by octet in memory of twice its size', () => {
    const table = Buffer.from([0, 9, 0, 0, 0, 0]);
    const frame = encodeFrame(FRAME.SETTINGS, 0, 0, Buffer.concat(Array<Buffer>(2_000).fill(table)));
    const beds = Array.from({ length: 20 }, () => bed());
    for (const { inbound } of beds) inbound.take(Buffer.concat([PREFACE, settings()]), 0);
    const before = usedBytes();
    for (const { inbound } of beds) {
      for (const octet of frame.subarray(0, -1)) assert.equal(inbound.take(Buffer.from([octet]), 0).length, 0);
    }
    const heldMb = (usedBytes() - before) / 1e6;
    assert.ok(heldMb < 3, `${String(heldMb)} MB for 0.24 MB`);
    for (const { inbound } of beds) assert.deepEqual(inbound.take(frame.subarray(-1), 0), frame);
  });

  for (const { why, sends, says } of faults) {
    void it(`is a fault when it is ${why}`, () => {
      const { inbound } = bed();
      const last = sends.length - 1;
      for (const part of sends.slice(0, last)) inbound.take(part, 0);
      assert.throws(
        () => inbound.take(sends[last]!, 0),
        (thrown: unknown) => thrown instanceof PeerFault && thrown.code === 'PROTOCOL' && says.test(thrown.message),
      );
    });
  }

  void it('may be as large as the server says', () => {
    const { inbound, outbound } = bed();
    outbound.see(settings([5, 20_000]), 0);
    inbound.take(Buffer.concat([PREFACE, settings()]), 0);
    const large = encodeFrame(FRAME.DATA, 0, 1, Buffer.alloc(20_000));
    assert.equal(inbound.take(large, 0), large);
  });

  void it('is a flood of octets that belong to no call, each KiB like a frame; in a call they are none', () => {
    const octets = Buffer.alloc(16_384);
    const data = (stream: number): Buffer => encodeFrame(FRAME.DATA, 0, stream, octets);
    const most = Math.floor((guardSettings.frames - 2) / 17);
    const begun = (): Inbound => {
      const { inbound } = bed();
      inbound.take(Buffer.concat([PREFACE, settings(), request(1, requestBlock('a'))]), 0);
      inbound.take(encodeFrame(FRAME.HEADERS, FLAG.END_HEADERS, 3, requestBlock('a')), 0);
      return inbound;
    };
    for (const frame of [encodeFrame(0x20, 0, 0, octets), encodeFrame(FRAME.GOAWAY, 0, 0, octets), data(5)]) {
      const inbound = begun();
      for (let frames = 0; frames < most; frames++) inbound.take(frame, 0);
      assert.throws(() => inbound.take(frame, 0), { code: 'FRAME_FLOOD' });
    }
    const inbound = begun();
    inbound.take(encodeFrame(FRAME.DATA, 0, 3, message(Buffer.alloc(4_000_000)).subarray(0, 5)), 0);
    for (let frames = 0; frames < 2 * most; frames++) inbound.take(data(3), 0);
  });

  void it('follows a table size of the server from its acknowledgement on', () => {
    const { inbound, outbound } = bed();
    const server = new MirrorServer();
    outbound.see(settings([1, 100]), 0);
    server.announced(100);
    const first = literal(1, 'x'.repeat(200), 'incremental');
    const rest = Buffer.concat([indexed(3), indexed(6), literal(4, '/p')]);
    const headers = (stream: number, ...parts: Buffer[]): Buffer => request(stream, Buffer.concat([...parts, rest]));
    for (const part of [
      Buffer.concat([PREFACE, settings()]),
      headers(1, first),
      headers(3, indexed(62)),
      ACK,
      headers(5, sizeUpdate(100), literal(1, 'small', 'incremental')),
      headers(7, indexed(62)),
    ]) {
      server.take(inbound.take(part, 0));
    }
    const authorities = server.requests.map((fields) => fields.find(({ name }) => name === ':authority')?.value);
    assert.deepEqual(authorities, ['x'.repeat(200), 'x'.repeat(200), 'small', 'small']);
  });

  void it('is a fault when it ignores a smaller table size that it has acknowledged', () => {
    const { inbound, outbound } = bed();
    outbound.see(settings([1, 0]), 0);
    inbound.take(Buffer.concat([PREFACE, settings(), ACK]), 0);
    assert.throws(() => inbound.take(request(1, requestBlock('localhost')), 0), PeerFault);
  });

  for (const [how, last] of [
    ['a frame that goes on', 0],
    ['its last frame', FLAG.END_STREAM],
  ] as const) {
    void it(`counts for each read that brings a piece of ${how}`, () => {
      const { inbound } = bed(HALF_REQUEST_BYTES);
      inbound.take(Buffer.concat([PREFACE, settings(), ...encodeHeaders(0, 1, requestBlock('localhost'))]), 0);
      const frame = encodeFrame(FRAME.DATA, last, 1, message(Buffer.alloc(8_000)));
      assert.throws(
        () => frame.forEach((octet) => inbound.take(Buffer.from([octet]), 0)),
        (fault) => fault instanceof PeerFault && fault.code === 'CALL_FLOOD',
      );
    });
  }

  void it('and its answer complete a call only together', () => {
    const { inbound, outbound, calls } = bed();
    inbound.take(Buffer.concat([PREFACE, settings()]), 0);
    const whole = request(1, requestBlock('localhost'));
    inbound.take(whole.subarray(0, -1), 5);
    assert.equal(calls.halfOpenSince(), 5);
    inbound.take(whole.subarray(-1), 6);
    assert.equal(calls.halfOpenSince(), undefined);
    outbound.see(trailers(1).subarray(0, 9), 7);
    assert.equal(calls.size, 1);
    outbound.see(trailers(1).subarray(9), 8);
    assert.equal(calls.idleSince, 8);
  });

  void it('or the output of the server may reset a call', () => {
    const { inbound, outbound, calls } = bed();
    inbound.take(Buffer.concat([PREFACE, settings()]), 0);
    const reset = (stream: number): Buffer => encodeFrame(FRAME.RST_STREAM, 0, stream, number32(0));
    for (const stream of [1, 3])
      inbound.take(encodeFrame(FRAME.HEADERS, FLAG.END_HEADERS, stream, requestBlock('a')), 0);
    inbound.take(reset(1), 1);
    assert.equal(calls.size, 1);
    for (let times = 0; times < 200; times++) outbound.see(reset(3), 2); // without an error: nothing to count
    assert.equal(calls.idleSince, 2);
  });

  void it('is one DATA frame of each call for all the small ones that a read brings', () => {
    const { inbound } = bed();
    inbound.take(Buffer.concat([PREFACE, settings()]), 0);
    for (const stream of [1, 3])
      inbound.take(encodeFrame(FRAME.HEADERS, FLAG.END_HEADERS, stream, requestBlock('a')), 0);
    const octet = (_: unknown, at: number): Buffer => encodeFrame(FRAME.DATA, 0, 1 + 2 * (at % 2), Buffer.from([at]));
    const small = Array.from({ length: 80 }, octet);
    const between = Buffer.concat([
      encodeFrame(FRAME.WINDOW_UPDATE, 0, 0, number32(1)),
      encodeFrame(0x42, 0, 0, Buffer.alloc(3)),
      encodeFrame(FRAME.DATA, 0, 5, Buffer.alloc(1)),
    ]);
    const last = request(3, requestBlock('a')).subarray(9 + requestBlock('a').length);
    const seen = framesOf(inbound.take(Buffer.concat([...small.slice(0, 40), between, ...small.slice(40), last]), 0));
    assert.deepEqual(
      seen.map(({ type, stream, length }) => [type, stream, length]),
      [
        [FRAME.WINDOW_UPDATE, 0, 4],
        [FRAME.DATA, 5, 1],
        [FRAME.DATA, 1, 40],
        [FRAME.DATA, 3, 40],
        [FRAME.DATA, 3, 9],
      ],
    );
    assert.deepEqual(
      [...seen[2]!.payload],
      [...Array(40).keys()].map((at) => 2 * at),
    );
  });

  void it('is a flood when its DATA is padded: that cannot be gathered', () => {
    const { inbound } = bed();
    inbound.take(Buffer.concat([PREFACE, settings()]), 0);
    inbound.take(encodeFrame(FRAME.HEADERS, FLAG.END_HEADERS, 1, requestBlock('a')), 0);
    const padded = encodeFrame(FRAME.DATA, FLAG.PADDED, 1, Buffer.from([0, 1]));
    const most = guardSettings.emptyFrames;
    for (let frames = 0; frames < most; frames++) assert.equal(inbound.take(padded, 0).length, padded.length);
    assert.throws(() => inbound.take(padded, 0), { code: 'EMPTY_FRAMES' });
  });

  void it('stays out of the way of the server until a frame has come whole, large DATA apart', () => {
    const { inbound } = bed();
    assert.equal(inbound.take(PREFACE.subarray(0, 20), 0).length, 0);
    assert.equal(inbound.take(PREFACE.subarray(20), 0).length, PREFACE.length);
    const whole = Buffer.concat([settings(), request(1, requestBlock('localhost'), Buffer.alloc(2000))]);
    const dataAt = 9 + 9 + requestBlock('localhost').length + 9;
    let passed = 0;
    for (let at = 0; at < whole.length; at++) {
      passed += inbound.take(whole.subarray(at, at + 1), 0).length;
      if (at >= dataAt) assert.equal(passed, at + 1);
    }
    assert.equal(passed, whole.length);
  });

  void it('may have some header blocks that open no call, and no more: each is decoded, and takes no turn', () => {
    const { inbound, outbound } = bed();
    inbound.take(Buffer.concat([PREFACE, settings(), request(1, requestBlock('localhost'))]), 0);
    outbound.see(trailers(1), 0);
    const further = encodeFrame(FRAME.HEADERS, FLAG.END_HEADERS | FLAG.END_STREAM, 1, literal(32, 'x'.repeat(4_000)));
    for (let times = 0; times < 4; times++) inbound.take(further, 0);
    assert.throws(
      () => inbound.take(further, 0),
      (thrown: unknown) => thrown instanceof PeerFault && thrown.code === 'HEADERS_FLOOD',
    );
  });

  void it('may end each request with trailers, and has no more of them for a call', () => {
    const { inbound } = bed();
    inbound.take(Buffer.concat([PREFACE, settings()]), 0);
    const block = (stream: number, flags: number): Buffer =>
      encodeFrame(FRAME.HEADERS, FLAG.END_HEADERS | flags, stream, requestBlock('a'));
    for (let stream = 1; stream < 2 * 240; stream += 2)
      inbound.take(Buffer.concat([block(stream, 0), block(stream, FLAG.END_STREAM)]), 0);
    inbound.take(block(601, 0), 0);
    inbound.take(block(601, 0), 0);
    assert.throws(
      () => {
        for (let times = 0; times <= 4; times++) inbound.take(block(601, 0), 0);
      },
      (thrown: unknown) => thrown instanceof PeerFault && thrown.code === 'HEADERS_FLOOD',
    );
  });

  void it('earns further frames with the content of requests, and with none that comes after their answer has begun', () => {
    for (const isAnswering of [false, true]) {
      const { inbound, outbound } = bed();
      inbound.take(Buffer.concat([PREFACE, settings()]), 0);
      inbound.take(encodeFrame(FRAME.HEADERS, FLAG.END_HEADERS, 1, requestBlock('a')), 0);
      if (isAnswering) outbound.see(encodeFrame(FRAME.HEADERS, FLAG.END_HEADERS, 1, Buffer.from([0x88])), 0);
      inbound.take(encodeFrame(FRAME.DATA, 0, 1, Buffer.alloc(16_000, 0xff)), 0);
      let pings = 0;
      assert.throws(() => {
        for (; pings < 1000; pings++) inbound.take(encodeFrame(FRAME.PING, 0, 0, Buffer.alloc(8)), 0);
      }, PeerFault);
      assert.equal(pings, guardSettings.pings + (isAnswering ? 0 : 15));
    }
  });

  void it('has its windows changed once by one SETTINGS frame, however often that says so', () => {
    const { inbound, calls } = bed();
    const changes: number[] = [];
    calls.beginWith = (window) => void changes.push(window);
    const window = (bytes: number): [number, number] => [4, bytes];
    inbound.take(Buffer.concat([PREFACE, settings(window(1), window(0), window(70_000))]), 0);
    assert.deepEqual(changes, [70_000]);
  });

  void describe('messages of a call', () => {
    const most = guardSettings.emptyFrames;
    const opened = (...streams: number[]): Inbound => {
      const { inbound } = bed();
      inbound.take(Buffer.concat([PREFACE, settings()]), 0);
      for (const stream of streams)
        inbound.take(encodeFrame(FRAME.HEADERS, FLAG.END_HEADERS, stream, requestBlock('a')), 0);
      return inbound;
    };
    const data = (content: Buffer, stream = 1): Buffer => encodeFrame(FRAME.DATA, 0, stream, content);
    const isFlood = (thrown: unknown): boolean =>
      thrown instanceof PeerFault && thrown.code === 'EMPTY_FRAMES' && /messages beyond the first/.test(thrown.message);

    void it('may be some, and many more end the connection before the server reads them', () => {
      const inbound = opened(1);
      const some = data(Buffer.alloc(5 * (most + 1)));
      assert.equal(inbound.take(some, 0).length, some.length);
      assert.throws(() => inbound.take(data(Buffer.alloc(16_380)), 0), isFlood);
    });

    void it('are counted however they are cut, and behind padding', () => {
      const inbound = opened(1);
      // Each frame ends inside of the five octets with which a message begins; the padding looks like messages.
      const cut = Buffer.concat([Buffer.from([200]), Buffer.alloc(7), Buffer.alloc(200)]);
      const frame = encodeFrame(FRAME.DATA, FLAG.PADDED, 1, cut);
      let frames = 0;
      assert.throws(() => {
        for (; frames < 1000; frames++) inbound.take(frame, 0);
      }, isFlood);
      assert.equal(frames, Math.ceil((5 * (most + 2)) / 7) - 1);
    });

    void it('are again as many in the next window', () => {
      const { inbound, guard } = bed();
      inbound.take(Buffer.concat([PREFACE, settings()]), 0);
      inbound.take(encodeFrame(FRAME.HEADERS, FLAG.END_HEADERS, 1, requestBlock('a')), 0);
      for (let window = 0; window < 5; window++) {
        guard.tell(window * guardSettings.windowMs);
        inbound.take(data(Buffer.alloc(5 * most)), 0);
      }
    });

    void it('are free where each call has one, or where one is long', () => {
      const streams = Array.from({ length: 3 * most }, (_, nth) => 2 * nth + 1);
      const inbound = opened(...streams);
      for (const stream of streams) inbound.take(data(message(Buffer.from('one')), stream), 0);
      const long = message(Buffer.alloc(1_000_000));
      const other = opened(1);
      for (let at = 0; at < long.length; at += 16_000) other.take(data(long.subarray(at, at + 16_000)), 0);
    });
  });
});
