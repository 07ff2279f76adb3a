import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { seededRandom } from '../../../support/seeded-random.js';
import { PeerFault } from '../../../../src/platform/http2/fault.js';
import { HpackDecoder } from '../../../../src/platform/http2/hpack-decoder.js';
import { HpackClient, type Pair } from '../../../support/http2/hpack-client.js';
import { indexed, literal, sizeUpdate } from '../../../support/http2/hpack-writer.js';
import { RFC_SERIES } from '../../../support/http2/rfc7541-examples.js';

const LIST_BYTES = 16_384;
const pairs = (decoder: HpackDecoder, block: Buffer): Pair[] =>
  decoder.decode(block).map(({ name, value }) => [name, value]);
const faultOf = (code: string) => (thrown: unknown) => thrown instanceof PeerFault && thrown.code === code;

void describe('the HPACK decoder on the examples of RFC 7541 appendix C', () => {
  for (const { title, tableBytes, blocks } of RFC_SERIES) {
    void it(`decodes ${title}`, () => {
      const decoder = new HpackDecoder(LIST_BYTES);
      if (tableBytes !== undefined) decoder.decode(sizeUpdate(tableBytes));
      for (const { hex, fields, table } of blocks) {
        assert.deepEqual(pairs(decoder, Buffer.from(hex.replaceAll(' ', ''), 'hex')), fields);
        const entries = decoder.table.entries.map(({ name, value, size }) => [name, value, size]);
        assert.deepEqual(entries, table);
        assert.equal(
          decoder.table.size,
          table.reduce((sum, [, , size]) => sum + size, 0),
        );
      }
    });
  }

  void it('knows the never-indexed literal of C.2.3', () => {
    const [field] = new HpackDecoder(LIST_BYTES).decode(Buffer.from('100870617373776f726406736563726574', 'hex'));
    assert.equal(field?.sensitive, true);
  });
});

void describe('the HPACK decoder', () => {
  void it('follows an encoder that uses every form there is', () => {
    fc.assert(
      fc.property(fc.integer(), fieldLists(), (seed, lists) => {
        const random = seededRandom(seed);
        const client = new HpackClient(random);
        const decoder = new HpackDecoder(1_000_000);
        for (const fields of lists) {
          if (random.next() < 0.2) {
            const limit = Math.floor(random.next() * 6000);
            client.limitTable(limit);
            decoder.limitTable(limit);
          }
          assert.deepEqual(pairs(decoder, client.block(fields)), fields);
        }
      }),
    );
  });

  const wrong = [
    { why: 'index 0', block: Buffer.from([0x80]) },
    { why: 'an index beyond both tables', block: indexed(62) },
    { why: 'a literal whose name index is in no table', block: literal(70, 'x') },
    { why: 'a string longer than the block', block: Buffer.from([0x00, 0x05, 0x61]) },
    { why: 'a block cut off after a name', block: Buffer.from([0x00, 0x01, 0x61]) },
    { why: 'an integer cut off', block: Buffer.from([0xff, 0x80]) },
    { why: 'an integer of too many octets', block: Buffer.from([0xff, 0x80, 0x80, 0x80, 0x80, 0x00]) },
    { why: 'a size update after a field', block: Buffer.concat([indexed(2), sizeUpdate(0)]) },
    { why: 'a size update above the limit', block: sizeUpdate(4097) },
    { why: 'a wrong Huffman string', block: Buffer.from([0x00, 0x01, 0x61, 0x81, 0x00]) },
  ];
  for (const { why, block } of wrong) {
    void it(`refuses ${why}`, () => {
      assert.throws(() => new HpackDecoder(LIST_BYTES).decode(block), faultOf('PROTOCOL'));
    });
  }

  void it('wants a size update first when its limit was lowered below the table', () => {
    const decoder = new HpackDecoder(LIST_BYTES);
    decoder.limitTable(100);
    assert.throws(() => decoder.decode(indexed(2)), faultOf('PROTOCOL'));
    const other = new HpackDecoder(LIST_BYTES);
    other.limitTable(100);
    assert.deepEqual(pairs(other, Buffer.concat([sizeUpdate(100), indexed(2)])), [[':method', 'GET']]);
    assert.throws(() => other.decode(sizeUpdate(101)), faultOf('PROTOCOL'));
  });

  void it('wants the smallest of several limits said first', () => {
    const lowered = (): HpackDecoder => {
      const decoder = new HpackDecoder(LIST_BYTES);
      for (const limit of [1000, 100, 2000]) decoder.limitTable(limit);
      return decoder;
    };
    assert.throws(() => lowered().decode(Buffer.concat([sizeUpdate(101), indexed(2)])), faultOf('PROTOCOL'));
    const both = Buffer.concat([sizeUpdate(100), sizeUpdate(2000), indexed(2)]);
    assert.deepEqual(pairs(lowered(), both), [[':method', 'GET']]);
  });

  void it('wants no size update when its limit was raised, and then allows a larger table', () => {
    const decoder = new HpackDecoder(LIST_BYTES);
    decoder.limitTable(65_536);
    assert.deepEqual(pairs(decoder, indexed(2)), [[':method', 'GET']]);
    decoder.decode(sizeUpdate(65_536));
    assert.equal(decoder.table.capacity, 65_536);
  });

  void it('empties the table for a field that is larger than it', () => {
    const decoder = new HpackDecoder(LIST_BYTES);
    decoder.decode(Buffer.concat([literal('a', 'b', 'incremental'), literal('c', 'd'.repeat(5000), 'incremental')]));
    assert.equal(decoder.table.size, 0);
  });

  void it('stops at a header bomb before the list is larger than its bound', () => {
    const decoder = new HpackDecoder(LIST_BYTES);
    decoder.decode(literal('x', 'y'.repeat(4000), 'incremental'));
    const bomb = Buffer.alloc(16_000, indexed(62));
    assert.throws(() => decoder.decode(bomb), faultOf('HEADER_BOMB'));
  });

  void it('keeps octets that are no text as they are', () => {
    const value = String.fromCharCode(0, 128, 255, 10);
    assert.deepEqual(pairs(new HpackDecoder(LIST_BYTES), literal('x', value, 'none', true)), [['x', value]]);
  });
});

function fieldLists(): fc.Arbitrary<Pair[][]> {
  const name = fc.constantFrom(':authority', ':path', ':method', 'te', 'user-agent', 'grpc-timeout', 'x', '__proto__');
  const value = fc.oneof(
    fc.constantFrom('', 'POST', '/v1beta1.Registration/Register', 'trailers', 'localhost'),
    fc.uint8Array({ maxLength: 400 }).map((octets) => Buffer.from(octets).toString('latin1')),
  );
  return fc.array(fc.array(fc.tuple(name, value), { maxLength: 8 }), { maxLength: 12 });
}

void describe('a string of a header block', () => {
  void it('that goes on beyond its block is refused: in a name, in a value, and where it is Huffman coded', () => {
    for (const hex of ['000a61', '0001610a62', '008a8c', '000161858c', '0005616263']) {
      assert.throws(() => new HpackDecoder(LIST_BYTES).decode(Buffer.from(hex, 'hex')), faultOf('PROTOCOL'), hex);
    }
  });
});
