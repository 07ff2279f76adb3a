import type { ConnectionEndCode } from '../../../src/model/connection-ends.js';
import type { GuardSettings } from '../../../src/model/settings.js';
import { encodeFrame, encodeHeaders, FLAG, FRAME, PREFACE, SETTING } from '../../../src/platform/http2/frames.js';
import { eventually } from '../eventually.js';
import { indexed, literal } from './hpack-writer.js';
import { message, number32, RawPeer, request, requestBlock, settings } from './raw-peer.js';

/** The deeds of a hostile peer, and the code with which it is to be cut off. */
export interface Attack {
  readonly name: string;
  readonly code: ConnectionEndCode;
  /** Budgets that make waiting short. */
  readonly guard?: Partial<GuardSettings>;
  /** Attacks until it is cut off or has done its worst. */
  readonly run: (path: string) => Promise<RawPeer>;
}

const NONE: Buffer = Buffer.alloc(0);
const WORST = 20_000;
/** More than any request has. */
const POURED_BYTES = 2_000_000;
/** Fewer than the frames that a connection may send, and than the octets of a message that a server takes. */
const MOST_PIECES = 1_800;
/** The beginning of a message that no server takes. */
const TOO_LONG = Buffer.from([0, 255, 0, 0, 0]);

/** Writes pieces as fast as they are taken, until the other side closes or the worst is done. */
async function flood(peer: RawPeer, piece: (turn: number) => Buffer, turns = WORST): Promise<RawPeer> {
  for (let turn = 0; turn < turns && !peer.isClosed; turn += 50) {
    const pieces = Array.from({ length: 50 }, (_, at) => piece(turn + at));
    if (!peer.socket.write(Buffer.concat(pieces))) {
      await peer.drained();
    }
  }
  return peer;
}

/** Provokes one reset after the other, each after the one before it has come, so that no burst gives it away. */
async function provoke(path: string, call: (stream: number) => Buffer): Promise<RawPeer> {
  const peer = await RawPeer.greeted(path);
  for (let stream = 1; stream < WORST && !peer.isClosed; stream += 2) {
    peer.write(call(stream));
    await eventually('a reset', () => peer.isClosed || peer.frames.some((frame) => frame.stream === stream));
  }
  return peer;
}

/** Sends full DATA frames of one call, as far as the windows of the server allow. */
async function pour(peer: RawPeer, stream: number): Promise<RawPeer> {
  const data = encodeFrame(FRAME.DATA, 0, stream, Buffer.alloc(16_384, 0xff));
  const granted = (id: number): number =>
    peer.frames
      .filter((frame) => frame.type === FRAME.WINDOW_UPDATE && frame.stream === id)
      .reduce((bytes, { payload }) => bytes + payload.readUInt32BE(0), 65_535);
  for (let sent = 16_384; sent < POURED_BYTES && !peer.isClosed; sent += 16_384) {
    await eventually('a window', () => peer.isClosed || sent <= Math.min(granted(0), granted(stream)));
    peer.write(data);
  }
  return peer;
}

function headers(stream: number, flags: number, path?: string): Buffer {
  return encodeFrame(FRAME.HEADERS, FLAG.END_HEADERS | flags, stream, requestBlock('localhost', path));
}

/** A flood of one frame that is always the same. */
function repeat(name: string, code: ConnectionEndCode, frame: Buffer): Attack {
  return { name, code, run: async (path) => flood(await RawPeer.greeted(path), () => frame) };
}

/** Every attack the border must stop: the library's known weak points and the lists of CVE-2023-44487, CVE-2024-27316 and CVE-2025-8671. */
export const ATTACKS: readonly Attack[] = [
  {
    name: 'rapid reset',
    code: 'RAPID_RESET',
    run: async (path) =>
      flood(await RawPeer.greeted(path), (turn) => {
        const stream = 2 * turn + 1;
        return Buffer.concat([headers(stream, 0), encodeFrame(FRAME.RST_STREAM, 0, stream, number32(8))]);
      }),
  },
  {
    name: 'made-you-reset by trailers that do not end the request',
    code: 'MADE_YOU_RESET',
    run: (path) => provoke(path, (stream) => Buffer.concat([headers(stream, 0), headers(stream, 0)])),
  },
  {
    name: 'made-you-reset by requests that no server takes',
    code: 'MADE_YOU_RESET',
    run: (path) => {
      const block = Buffer.concat([requestBlock('localhost'), literal('Upper-Case', 'x')]);
      return provoke(path, (stream) => encodeFrame(FRAME.HEADERS, FLAG.END_HEADERS | FLAG.END_STREAM, stream, block));
    },
  },
  {
    name: 'a flood of small CONTINUATION frames',
    code: 'CONTINUATION_FLOOD',
    run: async (path) => {
      const peer = await RawPeer.greeted(path);
      peer.write(encodeFrame(FRAME.HEADERS, 0, 1, requestBlock('localhost')));
      return flood(peer, () => encodeFrame(FRAME.CONTINUATION, 0, 1, literal('a', 'b')));
    },
  },
  {
    name: 'a flood of large CONTINUATION frames',
    code: 'CONTINUATION_FLOOD',
    run: async (path) => {
      const peer = await RawPeer.greeted(path);
      peer.write(encodeFrame(FRAME.HEADERS, 0, 1, requestBlock('localhost')));
      return flood(peer, () => encodeFrame(FRAME.CONTINUATION, 0, 1, literal('a', 'b'.repeat(15_000))), 200);
    },
  },
  {
    name: 'a header bomb',
    code: 'HEADER_BOMB',
    run: async (path) => {
      const peer = await RawPeer.greeted(path);
      const bomb = Buffer.concat([requestBlock('localhost'), literal('x', 'y'.repeat(3000), 'incremental')]);
      peer.write(request(1, bomb));
      peer.write(...encodeHeaders(0, 3, Buffer.concat([requestBlock('localhost'), Buffer.alloc(12_000, indexed(62))])));
      return peer;
    },
  },
  repeat('a flood of SETTINGS', 'SETTINGS_FLOOD', settings([SETTING.INITIAL_WINDOW_SIZE, 65_535])),
  repeat('a flood of empty SETTINGS', 'SETTINGS_FLOOD', settings()),
  repeat('a flood of SETTINGS acknowledgements', 'SETTINGS_FLOOD', encodeFrame(FRAME.SETTINGS, FLAG.ACK, 0, NONE)),
  repeat('a flood of PING', 'PING_FLOOD', encodeFrame(FRAME.PING, 0, 0, Buffer.alloc(8))),
  repeat('a flood of PRIORITY', 'PRIORITY_FLOOD', encodeFrame(FRAME.PRIORITY, 0, 1, Buffer.alloc(5, 1))),
  repeat('a flood of frames of no known type', 'FRAME_FLOOD', encodeFrame(0xfe, 0, 0, NONE)),
  repeat('a flood of WINDOW_UPDATE', 'WINDOW_GAME', encodeFrame(FRAME.WINDOW_UPDATE, 0, 0, number32(1))),
  {
    name: 'a flood of PING that reads no answer',
    code: 'PING_FLOOD',
    run: async (path) => {
      const peer = await RawPeer.greeted(path);
      peer.socket.pause();
      await flood(peer, () => encodeFrame(FRAME.PING, 0, 0, Buffer.alloc(8)));
      peer.socket.resume();
      return peer;
    },
  },
  {
    name: 'a flood of DATA without octets',
    code: 'EMPTY_FRAMES',
    run: async (path) => {
      const peer = await RawPeer.greeted(path);
      peer.write(headers(1, 0));
      return flood(peer, () => encodeFrame(FRAME.DATA, 0, 1, NONE));
    },
  },
  {
    name: 'a flood of DATA that is nothing but padding',
    code: 'EMPTY_FRAMES',
    run: async (path) => {
      const peer = await RawPeer.greeted(path);
      peer.write(headers(1, 0));
      return flood(peer, () => encodeFrame(FRAME.DATA, FLAG.PADDED, 1, Buffer.from([3, 0, 0, 0])));
    },
  },
  {
    name: 'a flood of messages without octets in full DATA frames',
    code: 'EMPTY_FRAMES',
    run: async (path) => {
      const peer = await RawPeer.greeted(path);
      peer.write(headers(1, 0));
      return flood(peer, () => encodeFrame(FRAME.DATA, 0, 1, Buffer.alloc(16_380)), 200);
    },
  },
  {
    name: 'a request that goes on without end after its answer',
    code: 'CALL_FLOOD',
    run: async (path) => {
      const peer = await RawPeer.greeted(path);
      peer.write(headers(1, 0), encodeFrame(FRAME.DATA, 0, 1, TOO_LONG));
      await peer.waitFor('its answer', ({ type }) => type === FRAME.HEADERS);
      return pour(peer, 1);
    },
  },
  {
    name: 'a request in frames of one octet',
    code: 'CALL_FLOOD',
    run: async (path) => {
      const peer = await RawPeer.greeted(path);
      const begun = message(Buffer.alloc(MOST_PIECES)).subarray(0, 5);
      peer.write(headers(1, 0), encodeFrame(FRAME.DATA, 0, 1, begun));
      return flood(peer, () => encodeFrame(FRAME.DATA, 0, 1, Buffer.alloc(1)), MOST_PIECES - 1);
    },
  },
  {
    name: 'a slow reader',
    code: 'UNREAD_BYTES',
    guard: { unreadMs: 300 },
    run: async (path) => {
      const peer = await RawPeer.greeted(path, [SETTING.INITIAL_WINDOW_SIZE, 2 ** 31 - 1]);
      peer.socket.pause();
      peer.write(encodeFrame(FRAME.WINDOW_UPDATE, 0, 0, number32(2 ** 30)));
      peer.write(request(1, requestBlock('localhost', '/t.Echo/Flow'), Buffer.alloc(4000)));
      return peer;
    },
  },
  {
    name: 'calls whose answers are not read',
    code: 'UNREAD_BYTES',
    guard: { unreadMs: 300 },
    run: async (path) => {
      const peer = await RawPeer.greeted(path);
      peer.socket.pause();
      // The answer names a method that nobody serves.
      const block = requestBlock('localhost', `/${'x'.repeat(8000)}`);
      peer.write(...Array.from({ length: 100 }, (_, turn) => request(2 * turn + 1, block)));
      return peer;
    },
  },
  {
    name: 'a window that is never opened',
    code: 'WINDOW_GAME',
    guard: { unreadMs: 300 },
    run: async (path) => {
      const peer = await RawPeer.greeted(path, [SETTING.INITIAL_WINDOW_SIZE, 0]);
      peer.write(request(1, requestBlock('localhost', '/t.Echo/Flow'), Buffer.alloc(10)));
      return peer;
    },
  },
  {
    name: 'a window that is opened drop by drop',
    code: 'WINDOW_GAME',
    guard: { unreadMs: 300 },
    run: async (path) => {
      const peer = await RawPeer.greeted(path, [SETTING.INITIAL_WINDOW_SIZE, 1]);
      peer.write(request(1, requestBlock('localhost', '/t.Echo/Flow'), Buffer.alloc(10)));
      const drip = setInterval(() => peer.write(encodeFrame(FRAME.WINDOW_UPDATE, 0, 1, number32(1))), 20);
      peer.socket.once('close', () => clearInterval(drip));
      return peer;
    },
  },
  {
    name: 'a header block that never ends',
    code: 'SLOW_HEADERS',
    guard: { headersMs: 200 },
    run: async (path) => {
      const peer = await RawPeer.greeted(path);
      peer.write(headers(1, FLAG.END_STREAM).subarray(0, 30));
      return peer;
    },
  },
  {
    name: 'a header block whose CONTINUATION never comes',
    code: 'SLOW_HEADERS',
    guard: { headersMs: 200 },
    run: async (path) => {
      const peer = await RawPeer.greeted(path);
      peer.write(encodeFrame(FRAME.HEADERS, 0, 1, requestBlock('localhost')));
      return peer;
    },
  },
  {
    name: 'silence after connecting',
    code: 'SLOW_PREFACE',
    guard: { prefaceMs: 200 },
    run: (path) => Promise.resolve(new RawPeer(path)),
  },
  {
    name: 'a preface without SETTINGS',
    code: 'SLOW_PREFACE',
    guard: { prefaceMs: 200 },
    run: (path) => {
      const peer = new RawPeer(path);
      peer.write(PREFACE);
      return Promise.resolve(peer);
    },
  },
  {
    name: 'a request without an end',
    code: 'HALF_OPEN_CALL',
    guard: { halfOpenMs: 200 },
    run: async (path) => {
      const peer = await RawPeer.greeted(path);
      peer.write(headers(1, 0), encodeFrame(FRAME.DATA, 0, 1, Buffer.from([0])));
      return peer;
    },
  },
  {
    name: 'a request whose last DATA frame never ends',
    code: 'HALF_OPEN_CALL',
    guard: { halfOpenMs: 200 },
    run: async (path) => {
      const peer = await RawPeer.greeted(path);
      peer.write(request(1, requestBlock('localhost')).subarray(0, -1));
      return peer;
    },
  },
  {
    name: 'requests that are answered before their end, and have none',
    code: 'HALF_OPEN_CALL',
    guard: { halfOpenMs: 200 },
    run: async (path) => {
      const peer = await RawPeer.greeted(path);
      peer.write(headers(1, 0), encodeFrame(FRAME.DATA, 0, 1, TOO_LONG));
      return peer;
    },
  },
  {
    name: 'a connection without calls',
    code: 'IDLE',
    guard: { idleMs: 200 },
    run: async (path) => RawPeer.greeted(path),
  },
  {
    name: 'another protocol',
    code: 'PROTOCOL',
    run: (path) => {
      const peer = new RawPeer(path);
      peer.write(Buffer.from('GET / HTTP/1.1\r\nhost: x\r\n\r\n'));
      return Promise.resolve(peer);
    },
  },
  {
    name: 'a header block that refers to nothing',
    code: 'PROTOCOL',
    run: async (path) => {
      const peer = await RawPeer.greeted(path);
      peer.write(encodeFrame(FRAME.HEADERS, FLAG.END_HEADERS, 1, indexed(100)));
      return peer;
    },
  },
  {
    name: 'more calls at once than the server allows',
    code: 'PROTOCOL',
    run: async (path) => flood(await RawPeer.greeted(path), (turn) => headers(2 * turn + 1, 0), 200),
  },
  {
    name: 'far more calls at once than the server allows',
    code: 'CALL_FLOOD',
    run: async (path) => {
      const peer = await RawPeer.greeted(path);
      peer.write(...Array.from({ length: 500 }, (_, turn) => headers(2 * turn + 1, 0)));
      return peer;
    },
  },
  {
    name: 'a window that is made too large',
    code: 'PROTOCOL',
    run: async (path) => {
      const peer = await RawPeer.greeted(path);
      peer.write(encodeFrame(FRAME.WINDOW_UPDATE, 0, 0, number32(2 ** 31 - 1)));
      return peer;
    },
  },
  {
    name: 'a frame that only the server refuses',
    code: 'PROTOCOL',
    run: async (path) => {
      const peer = await RawPeer.greeted(path);
      peer.write(encodeFrame(FRAME.PING, 0, 5, Buffer.alloc(8)));
      return peer;
    },
  },
];
