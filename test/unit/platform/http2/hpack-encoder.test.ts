import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { HpackDecoder } from '../../../../src/platform/http2/hpack-decoder.js';
import { encodeField, pushInteger } from '../../../../src/platform/http2/hpack-encoder.js';
import { HeaderField } from '../../../../src/platform/http2/hpack-field.js';

void describe('HPACK integers', () => {
  const rows = [
    { of: 'C.1.1, 10 in 5 bits', prefixBits: 5, value: 10, octets: [0b01010] },
    { of: 'C.1.2, 1337 in 5 bits', prefixBits: 5, value: 1337, octets: [0b11111, 0b10011010, 0b00001010] },
    { of: 'C.1.3, 42 in 8 bits', prefixBits: 8, value: 42, octets: [0b00101010] },
    { of: 'the largest that fits 4 bits', prefixBits: 4, value: 14, octets: [14] },
    { of: 'the smallest that does not', prefixBits: 4, value: 15, octets: [15, 0] },
  ];
  for (const { of, prefixBits, value, octets } of rows) {
    void it(`are written as ${of} (RFC 7541)`, () => {
      const written: number[] = [];
      pushInteger(written, 0, prefixBits, value);
      assert.deepEqual(written, octets);
    });
  }
});

void describe('encodeField', () => {
  const hex = (name: string, value: string, sensitive = false): string =>
    encodeField(new HeaderField(name, value, sensitive)).toString('hex');

  void it('writes C.2.2, a literal without indexing', () => {
    assert.equal(hex(':path', '/sample/path'), '040c2f73616d706c652f70617468');
  });
  void it('writes C.2.3, a literal never indexed', () => {
    assert.equal(hex('password', 'secret', true), '100870617373776f726406736563726574');
  });
  void it('writes C.2.4, an indexed field', () => {
    assert.equal(hex(':method', 'GET'), '82');
  });
  void it('does not index a sensitive field, even one of the static table', () => {
    assert.equal(hex(':method', 'GET', true), '1203474554');
  });

  void it('writes what decodes to the same field and enters no table', () => {
    const text = fc.uint8Array({ maxLength: 300 }).map((octets) => Buffer.from(octets).toString('latin1'));
    const name = fc.oneof(text, fc.constantFrom(':path', 'te', 'accept-encoding', 'host'));
    fc.assert(
      fc.property(name, fc.oneof(text, fc.constantFrom('', '/', 'gzip, deflate')), fc.boolean(), (n, v, sensitive) => {
        const decoder = new HpackDecoder(10_000);
        const [field] = decoder.decode(encodeField(new HeaderField(n, v, sensitive)));
        assert.deepEqual([field?.name, field?.value], [n, v]);
        assert.equal(field?.sensitive, sensitive);
        assert.equal(decoder.table.size, 0);
      }),
    );
  });
});
