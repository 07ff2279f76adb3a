import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Random } from '../../../../src/kernel/random.js';
import { Answers } from '../../../../src/platform/http2/answers.js';
import { Calls } from '../../../../src/platform/http2/calls.js';
import { encodeFrame, FLAG, FRAME, PREFACE } from '../../../../src/platform/http2/frames.js';
import { Guard } from '../../../../src/platform/http2/guard.js';
import { Inbound } from '../../../../src/platform/http2/inbound.js';
import { framesOf } from '../../../support/http2/frame-list.js';
import { pieces } from '../../../support/http2/fuzz.js';
import { guardSettings } from '../../../support/http2/guard-settings.js';
import { answerHeaders } from '../../../support/http2/hostile-plugin.js';
import { message, number32, requestBlock, settings } from '../../../support/http2/raw-peer.js';
import { seededRandom } from '../../../support/seeded-random.js';

const generous = {
  ...guardSettings,
  frames: 1e9,
  emptyFrames: 1e9,
  pings: 1e9,
  windowUpdates: 1e9,
  resets: 1e9,
};
const STREAMS = [1, 3, 5];
const SIZES = [0, 1, 2, 5, 30, 700, 1023, 1024, 1100, 5000, 16_384];

const pick = <T>(random: Random, choices: readonly T[]): T => choices[Math.floor(random.next() * choices.length)]!;

/** Calls side by side, in DATA frames of all sizes, padded ones among them, with the frames that may come in between. */
function conversation(random: Random, head: (stream: number) => Buffer): Buffer[] {
  const parts = STREAMS.map(head);
  const open = new Map(
    STREAMS.map((stream) => {
      const messages = Array.from({ length: 1 + Math.floor(4 * random.next()) }, () =>
        message(Buffer.from(Array.from({ length: pick(random, SIZES) }, () => Math.floor(256 * random.next())))),
      );
      return [stream, Buffer.concat(messages)];
    }),
  );
  while (open.size > 0) {
    const stream = pick(random, [...open.keys()]);
    const rest = open.get(stream)!;
    const size = Math.min(rest.length, pick(random, SIZES));
    const content = rest.subarray(0, size);
    open.set(stream, rest.subarray(size));
    const isLast = size === rest.length && random.next() < 0.5;
    const end = isLast ? FLAG.END_STREAM : 0;
    if (random.next() < 0.1 && size < 16_000) {
      const padded = Buffer.concat([Buffer.from([7]), content, Buffer.alloc(7)]);
      parts.push(encodeFrame(FRAME.DATA, FLAG.PADDED | end, stream, padded));
    } else parts.push(encodeFrame(FRAME.DATA, end, stream, content));
    if (isLast) open.delete(stream);
    else if (size === rest.length) {
      open.delete(stream);
      if (random.next() < 0.5) parts.push(encodeFrame(FRAME.RST_STREAM, 0, stream, number32(8)));
      else parts.push(encodeFrame(FRAME.HEADERS, FLAG.END_HEADERS | FLAG.END_STREAM, stream, Buffer.from([0x88])));
    }
    if (random.next() < 0.1) parts.push(encodeFrame(FRAME.PING, 0, 0, Buffer.alloc(8)));
    if (random.next() < 0.1) parts.push(encodeFrame(0x42, 0, 0, Buffer.alloc(pick(random, SIZES))));
    if (random.next() < 0.1) parts.push(encodeFrame(FRAME.WINDOW_UPDATE, 0, stream, number32(1)));
  }
  return parts;
}

/** A call in the order of its frames: content, octets that flow control counts, and everything else. */
function heard(bytes: Buffer, call: number): string[] {
  const said: string[] = [];
  let content: Buffer[] = [];
  let counted = 0;
  for (const { type, flags, stream, payload } of framesOf(bytes)) {
    if (stream !== call || type === FRAME.WINDOW_UPDATE) continue;
    const isData = type === FRAME.DATA;
    if (isData) {
      const isPadded = (flags & FLAG.PADDED) !== 0;
      content.push(isPadded ? payload.subarray(1, payload.length - payload[0]!) : payload);
      counted += payload.length;
    }
    if (isData && (flags & FLAG.END_STREAM) === 0) continue;
    said.push(Buffer.concat(content).toString('base64'), String(counted), `${String(type)} ${String(flags & 1)}`);
    content = [];
  }
  return [...said, Buffer.concat(content).toString('base64'), String(counted)];
}

void describe('small DATA frames', () => {
  void it('of calls side by side are gathered, and nothing of a call is lost, doubled, or out of order', () => {
    for (let seed = 0; seed < 150; seed++) {
      const random = seededRandom(seed);
      const requests = Buffer.concat(
        conversation(random, (stream) => encodeFrame(FRAME.HEADERS, FLAG.END_HEADERS, stream, requestBlock('a'))),
      );
      const inbound = new Inbound(generous, new Guard(generous, 0), new Calls(0));
      inbound.take(Buffer.concat([PREFACE, settings()]), 0);
      const asked = Buffer.concat(pieces(random, requests).map((piece) => Buffer.from(inbound.take(piece, 0))));

      const answered = Buffer.concat(conversation(random, answerHeaders));
      const answers = new Answers(generous, new Guard(generous, 0));
      answers.take(settings(), 0);
      for (const stream of STREAMS) answers.opened(stream);
      const seen = Buffer.concat(pieces(random, answered).map((piece) => Buffer.from(answers.take(piece, 0))));

      for (const stream of STREAMS) {
        assert.deepEqual(heard(asked, stream), heard(requests, stream), `seed ${seed}, request ${stream}`);
        assert.deepEqual(heard(seen, stream), heard(answered, stream), `seed ${seed}, answer ${stream}`);
      }
    }
  });
});
