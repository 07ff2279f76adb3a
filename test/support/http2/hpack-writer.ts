import { pushInteger } from '../../../src/platform/http2/hpack-encoder.js';
import { HUFFMAN_CODES } from '../../../src/platform/http2/huffman.js';

/** How a literal treats the dynamic table (RFC 7541 6.2). */
export type Indexing = 'incremental' | 'none' | 'never';

const PATTERN: Readonly<Record<Indexing, readonly [pattern: number, prefixBits: number]>> = {
  incremental: [0x40, 6],
  none: [0x00, 4],
  never: [0x10, 4],
};

/** A field that stands in a table. */
export function indexed(index: number): Buffer {
  return integer(0x80, 7, index);
}

/** A literal; the name is text, or the index of a field that has it. */
export function literal(name: string | number, value: string, indexing: Indexing = 'none', isHuffman = false): Buffer {
  const [pattern, prefixBits] = PATTERN[indexing];
  const start = integer(pattern, prefixBits, typeof name === 'number' ? name : 0);
  const named = typeof name === 'number' ? [] : [text(name, isHuffman)];
  return Buffer.concat([start, ...named, text(value, isHuffman)]);
}

/** A dynamic table size update. */
export function sizeUpdate(bytes: number): Buffer {
  return integer(0x20, 5, bytes);
}

/** A string literal. */
function text(value: string, isHuffman: boolean): Buffer {
  const octets = isHuffman ? huffman(value) : Buffer.from(value, 'latin1');
  return Buffer.concat([integer(isHuffman ? 0x80 : 0x00, 7, octets.length), octets]);
}

/** Encodes with the Huffman code, padded with ones. */
export function huffman(value: string): Buffer {
  let bits = '';
  for (const octet of Buffer.from(value, 'latin1')) {
    const [code, length] = HUFFMAN_CODES[octet]!;
    bits += code.toString(2).padStart(length, '0');
  }
  bits = bits.padEnd(Math.ceil(bits.length / 8) * 8, '1');
  return Buffer.from(bits.match(/.{8}/g)?.map((octet) => Number.parseInt(octet, 2)) ?? []);
}

function integer(pattern: number, prefixBits: number, value: number): Buffer {
  const octets: number[] = [];
  pushInteger(octets, pattern, prefixBits, value);
  return Buffer.from(octets);
}
