import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { framed, MessageReader, UnreadableMessage } from '../../../../src/platform/grpc/message-reader.js';

void describe('messages of an answer', () => {
  void it('are what was framed, in whatever pieces they come', () => {
    const pieces = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 30 });
    const messages = fc.array(fc.uint8Array({ maxLength: 30 }), { maxLength: 8 });
    fc.assert(
      fc.property(messages, pieces, (all, sizes) => {
        const given = all.map((bytes) => Buffer.from(bytes));
        const octets = Buffer.concat(given.map(framed));
        const reader = new MessageReader(30);
        const got: Buffer[] = [];
        for (let at = 0, nth = 0; at < octets.length; nth++) {
          const size = sizes[nth % sizes.length] ?? 1;
          got.push(...reader.take(octets.subarray(at, at + size)));
          at += size;
        }
        assert.deepEqual(got, given);
      }),
    );
  });

  void it('do not hold the piece of memory in which they arrived', () => {
    const arrived = Buffer.alloc(65_536);
    framed(Buffer.from('list')).copy(arrived);
    const [list] = new MessageReader(10).take(arrived.subarray(0, 9));
    assert.notEqual(list?.buffer, arrived.buffer);
  });

  for (const [what, octets, isTooLarge, says] of [
    ['of more octets than are taken', [0, 0, 0, 0, 11], true, 'Received message larger than max (11 vs 10)'],
    ['of 4 GiB', [0, 255, 255, 255, 255], true, 'Received message larger than max (4294967295 vs 10)'],
    ['that are compressed', [1, 0, 0, 0, 2, 1, 1], false, 'the answer is compressed, and nobody asked for that'],
  ] as const) {
    void it(`${what} are refused before they are there`, () => {
      assert.throws(
        () => new MessageReader(10).take(Buffer.from(octets)),
        (thrown) => thrown instanceof UnreadableMessage && thrown.isTooLarge === isTooLarge && thrown.message === says,
      );
    });
  }
});
