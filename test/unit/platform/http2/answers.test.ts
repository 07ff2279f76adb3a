import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Answers } from '../../../../src/platform/http2/answers.js';
import { encodeFrame, FLAG, FRAME } from '../../../../src/platform/http2/frames.js';
import { Guard } from '../../../../src/platform/http2/guard.js';
import { framesOf } from '../../../support/http2/frame-list.js';
import { guardSettings } from '../../../support/http2/guard-settings.js';
import { answerHeaders } from '../../../support/http2/hostile-plugin.js';
import { message, number32, settings } from '../../../support/http2/raw-peer.js';

const generous = { ...guardSettings, frames: 1_000_000 };

function bed(): Answers {
  const answers = new Answers(generous, new Guard(generous, 0));
  answers.take(settings(), 0);
  answers.opened(1);
  return answers;
}

/** DATA frames of so many octets each. */
function cut(stream: number, bytes: Buffer, piece: number): Buffer[] {
  const frames: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += piece) {
    frames.push(encodeFrame(FRAME.DATA, 0, stream, bytes.subarray(at, at + piece)));
  }
  return frames;
}

void describe('the answer of a server', () => {
  void it('reaches the client in few DATA frames, however it is cut and whenever it comes', () => {
    const whole = message(Buffer.from(Array.from({ length: 100_000 }, (_, at) => at % 253)));
    for (const piece of [1, 3, 700]) {
      const answers = bed();
      const out = [answers.take(answerHeaders(1), 0)];
      for (const frame of cut(1, whole, piece))
        for (const half of [frame.subarray(0, 4), frame.subarray(4)]) out.push(answers.take(half, 0));
      const data = framesOf(Buffer.concat(out)).filter(({ type }) => type === FRAME.DATA);
      assert.ok(Buffer.concat(data.map(({ payload }) => payload)).equals(whole));
      assert.ok(data.length <= whole.length / 1024 + 2, `${data.length} frames for pieces of ${piece}`);
    }
  });

  void it('passes without being held when a message is complete', () => {
    const answers = bed();
    answers.take(answerHeaders(1), 0);
    const frame = encodeFrame(FRAME.DATA, 0, 1, message(Buffer.from('a list')));
    assert.equal(answers.take(frame, 0), frame);
  });

  void it('reaches the client in few DATA frames of each call when a read brings many small messages', () => {
    const answers = bed();
    answers.opened(3);
    answers.take(Buffer.concat([answerHeaders(1), answerHeaders(3)]), 0);
    const empty = (_: unknown, at: number): Buffer =>
      encodeFrame(FRAME.DATA, 0, 1 + 2 * (at % 2), message(Buffer.alloc(0)));
    const between = encodeFrame(0x42, 0, 0, Buffer.alloc(3));
    const sent = Array.from({ length: 1000 }, empty).flatMap((frame) => [frame, between]);
    const seen = framesOf(answers.take(Buffer.concat(sent), 0));
    assert.ok(seen.length <= 6, `${seen.length} frames`);
    for (const call of [1, 3]) {
      const octets = seen.filter(({ stream }) => stream === call).reduce((sum, { length }) => sum + length, 0);
      assert.equal(octets, 5 * 500);
    }
  });

  void it('goes on with whole messages although a large frame of another call is not whole, and before a header block', () => {
    const answers = bed();
    answers.opened(3);
    answers.take(Buffer.concat([answerHeaders(1), answerHeaders(3)]), 0);
    const small = encodeFrame(FRAME.DATA, 0, 1, message(Buffer.from('a list')));
    const large = encodeFrame(FRAME.DATA, 0, 3, message(Buffer.alloc(5000)));
    const trailers = answerHeaders(1);
    trailers[4] = FLAG.END_STREAM;
    const end = encodeFrame(FRAME.CONTINUATION, FLAG.END_HEADERS, 1, Buffer.alloc(0));
    const first = answers.take(Buffer.concat([small, small, large.subarray(0, 600)]), 0);
    const then = answers.take(Buffer.concat([large.subarray(600), trailers]), 0);
    const seen = framesOf(Buffer.concat([first, then, answers.take(end, 0)]));
    assert.deepEqual(
      seen.map(({ type, stream }) => [type, stream]),
      [
        [FRAME.DATA, 3],
        [FRAME.DATA, 1],
        [FRAME.HEADERS, 1],
        [FRAME.CONTINUATION, 1],
      ],
    );
    assert.equal(seen[1]?.length, 2 * 11);
  });

  void it('is no frame of its own when it has no known type or no content', () => {
    const answers = bed();
    const odd = Buffer.concat([
      encodeFrame(0x20, 0, 0, Buffer.alloc(300)),
      encodeFrame(FRAME.DATA, 0, 1, Buffer.alloc(0)),
    ]);
    assert.equal(answers.take(odd, 0).length, 0);
    const ping = encodeFrame(FRAME.PING, 0, 0, Buffer.alloc(8));
    assert.deepEqual(answers.take(Buffer.concat([odd, ping]), 0), ping);
  });

  void it('is cut off for octets that belong to no call, each KiB like a frame', () => {
    const octets = Buffer.alloc(16_384);
    for (const frame of [
      encodeFrame(0x20, 0, 0, octets),
      encodeFrame(FRAME.GOAWAY, 0, 0, octets),
      encodeFrame(FRAME.DATA, 0, 3, octets),
    ]) {
      const answers = new Answers(guardSettings, new Guard(guardSettings, 0));
      answers.take(settings(), 0);
      const most = Math.floor((guardSettings.frames - 1) / 17);
      for (let frames = 0; frames < most; frames++) answers.take(frame, 0);
      assert.throws(() => answers.take(frame, 0), { code: 'FRAME_FLOOD' });
    }
  });

  void it('of a call that was given up in the middle of a message is still accounted for', () => {
    const answers = bed();
    const begun = message(Buffer.alloc(5000)).subarray(0, 700);
    answers.take(Buffer.concat(cut(1, begun, 100)), 0);
    answers.givenUp(1);
    const ping = encodeFrame(FRAME.PING, 0, 0, Buffer.alloc(8));
    const [data, next] = framesOf(answers.take(ping, 0));
    assert.equal(data?.payload.length, 700);
    assert.equal(next?.type, FRAME.PING);
    assert.equal(answers.openCalls, 0);
  });

  void it('goes on in order when small frames, large ones and the end follow each other', () => {
    const answers = bed();
    const whole = message(Buffer.from(Array.from({ length: 9000 }, (_, at) => at % 249)));
    const parts = [whole.subarray(0, 3), whole.subarray(3, 5), whole.subarray(5, 4000), whole.subarray(4000, 4001)];
    const frames = [...parts, whole.subarray(4001)].map((part) => encodeFrame(FRAME.DATA, 0, 1, part));
    const trailers = answerHeaders(1);
    trailers[4] = FLAG.END_HEADERS | FLAG.END_STREAM;
    const seen = framesOf(answers.take(Buffer.concat([answerHeaders(1), ...frames, trailers]), 0));
    const data = seen.filter(({ type }) => type === FRAME.DATA);
    assert.ok(Buffer.concat(data.map(({ payload }) => payload)).equals(whole));
    assert.equal(seen.at(-1)?.type, FRAME.HEADERS);
    assert.equal(answers.openCalls, 0);
  });

  void it('keeps what came of an answer that the server cuts off', () => {
    const answers = bed();
    const begun = cut(1, message(Buffer.alloc(5000)).subarray(0, 300), 100);
    const seen = framesOf(answers.take(Buffer.concat([...begun, encodeFrame(FRAME.RST_STREAM, 0, 1, number32(8))]), 0));
    assert.deepEqual(
      seen.map(({ type, payload }) => [type, payload.length]),
      [
        [FRAME.DATA, 300],
        [FRAME.RST_STREAM, 4],
      ],
    );
  });
});
