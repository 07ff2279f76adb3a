import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { PeerFault } from '../../../../src/platform/http2/fault.js';
import { decodeHuffman, HUFFMAN_CODES } from '../../../../src/platform/http2/huffman.js';
import { huffman } from '../../../support/http2/hpack-writer.js';

const decode = (hex: string): string => {
  const octets = Buffer.from(hex, 'hex');
  return decodeHuffman(octets, 0, octets.length);
};

void describe('the Huffman code', () => {
  // A few rows of RFC 7541 appendix B, among them the first and the last of a length.
  const rows = [
    { symbol: 0, bits: 0x1ff8, length: 13 },
    { symbol: 48, bits: 0x0, length: 5 },
    { symbol: 116, bits: 0x9, length: 5 },
    { symbol: 32, bits: 0x14, length: 6 },
    { symbol: 126, bits: 0x1ffd, length: 13 },
    { symbol: 92, bits: 0x7fff0, length: 19 },
    { symbol: 255, bits: 0x3ffffee, length: 26 },
    { symbol: 10, bits: 0x3ffffffc, length: 30 },
    { symbol: 22, bits: 0x3ffffffe, length: 30 },
    { symbol: 256, bits: 0x3fffffff, length: 30 },
  ];
  for (const { symbol, bits, length } of rows) {
    void it(`of symbol ${symbol} is ${bits.toString(16)} in ${length} bits`, () => {
      assert.deepEqual(HUFFMAN_CODES[symbol], [bits, length]);
    });
  }

  void it('is complete: every infinite row of bits begins with exactly one code', () => {
    assert.equal(HUFFMAN_CODES.length, 257);
    assert.equal(
      HUFFMAN_CODES.reduce((sum, [, length]) => sum + 2 ** -length, 0),
      1,
    );
  });

  void it('gives back any string that was encoded with it', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (octets) => {
        const value = Buffer.from(octets).toString('latin1');
        assert.equal(decode(huffman(value).toString('hex')), value);
      }),
    );
  });

  void it('decodes the strings of RFC 7541 appendix C', () => {
    assert.equal(decode('f1e3c2e5f23a6ba0ab90f4ff'), 'www.example.com');
    assert.equal(decode('a8eb10649cbf'), 'no-cache');
    assert.equal(decode('25a849e95ba97d7f'), 'custom-key');
    assert.equal(decode('25a849e95bb8e8b4bf'), 'custom-value');
  });

  const wrong = [
    { why: 'an octet of padding', hex: '07ff' },
    { why: 'padding with a zero', hex: '06' },
    { why: 'EOS', hex: 'ffffffff' },
    { why: 'a code cut off', hex: 'fe' },
  ];
  for (const { why, hex } of wrong) {
    void it(`refuses ${why}`, () => {
      assert.throws(
        () => decode(hex),
        (thrown: unknown) => thrown instanceof PeerFault && thrown.code === 'PROTOCOL',
      );
    });
  }
});
