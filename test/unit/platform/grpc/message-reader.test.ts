import assert from 'node:assert/strict';
import { describe, it, mock } from 'node:test';
import fc from 'fast-check';
import { framed, MessageReader, UnreadableMessage } from '../../../../src/platform/grpc/message-reader.js';

/** Adds octets, and cuts out all messages that are whole by them. */
function take(reader: MessageReader, octets: Buffer): Buffer[] {
  const messages: Buffer[] = [];
  reader.add(octets);
  for (let next = reader.next(); next !== undefined; next = reader.next()) messages.push(next);
  reader.keep();
  return messages;
}

void describe('messages of an answer', () => {
  void it('are as they were framed, in any pieces', () => {
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
          got.push(...take(reader, octets.subarray(at, at + size)));
          at += size;
        }
        assert.deepEqual(got, given);
      }),
    );
  });

  void it('do not hold the piece of memory in which they arrived', () => {
    const arrived = Buffer.alloc(65_536);
    framed(Buffer.from('list')).copy(arrived);
    const [list] = take(new MessageReader(10), arrived.subarray(0, 9));
    assert.notEqual(list?.buffer, arrived.buffer);
  });

  void it('in pieces hold at most twice their octets, and no piece of memory in which they arrived', () => {
    const PIECE = 1024;
    const reader = new MessageReader(1024 * PIECE);
    const octets = framed(Buffer.alloc(1024 * PIECE, 'l'));
    const allocate = mock.method(Buffer, 'allocUnsafeSlow');
    let [taken, largest] = [0, 0];
    for (let at = 0; at < octets.length - 1; at += PIECE) {
      const arrived = Buffer.alloc(65_536);
      const bytes = octets.copy(arrived, 0, at, Math.min(at + PIECE, octets.length - 1));
      taken += bytes;
      assert.deepEqual(take(reader, arrived.subarray(0, bytes)), []);
      assert.equal(reader.begun, 1024 * PIECE);
      largest = Math.max(largest, ...allocate.mock.calls.map((call) => call.arguments[0]));
      assert.ok(largest <= Math.max(2 * taken, 16 * 1024), `${String(largest)} after ${String(taken)}`);
    }
    assert.ok(allocate.mock.callCount() < 10);
    const [list] = take(reader, octets.subarray(-1));
    assert.equal(list?.equals(octets.subarray(5)), true);
    assert.equal(list.buffer.byteLength, list.length);
    assert.equal(reader.begun, 0);
    mock.restoreAll();
  });

  void it('that nobody wants yet are their octets alone, however many they are', () => {
    const reader = new MessageReader(10);
    const arrived = Buffer.alloc(65_536);
    const made = mock.method(Buffer, 'from');
    reader.add(arrived.subarray(0, 50_000));
    assert.equal(reader.next()?.length, 0);
    reader.keep();
    assert.ok(made.mock.callCount() <= 2);
    mock.restoreAll();
    assert.equal(reader.hasUnread, true);
    for (let nth = 1; nth < 10_000; nth += 1) assert.equal(reader.next()?.length, 0);
    assert.equal(reader.next(), undefined);
    assert.equal(reader.hasUnread, false);
  });

  for (const [what, octets, isTooLarge, says] of [
    ['of more octets than are taken', [0, 0, 0, 0, 11], true, 'Received message larger than max (11 vs 10)'],
    ['of 4 GiB', [0, 255, 255, 255, 255], true, 'Received message larger than max (4294967295 vs 10)'],
    ['that are compressed', [1, 0, 0, 0, 2, 1, 1], false, 'the answer is compressed, and nobody asked for that'],
  ] as const) {
    void it(`${what} are refused before they are there`, () => {
      assert.throws(
        () => take(new MessageReader(10), Buffer.from(octets)),
        (thrown) => thrown instanceof UnreadableMessage && thrown.isTooLarge === isTooLarge && thrown.message === says,
      );
    });
  }
});
