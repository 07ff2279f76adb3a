// The Huffman code of HPACK (RFC 7541 appendix B). The code is canonical: the lengths alone define it.
import { malformed } from './fault.js';

/** Bits of the code of each octet, and of the end-of-string symbol (RFC 7541 appendix B). */
const LENGTHS = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28,
  28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
  13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6,
  5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23,
  22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22,
  23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26,
  20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27,
  27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27,
  27, 27, 27, 26, 30,
];
const EOS = 256;
/** Padding is a prefix of EOS, shorter than an octet (RFC 7541 5.2). */
const LONGEST_PADDING = 7;

/** The code of each symbol, as [bits, length]: shorter codes first, equal lengths in the order of the symbols. */
export const HUFFMAN_CODES: readonly (readonly [bits: number, length: number])[] = canonicalCodes();

function canonicalCodes(): (readonly [number, number])[] {
  const codes: (readonly [number, number])[] = LENGTHS.map((length) => [0, length]);
  const inOrder = LENGTHS.map((length, symbol) => ({ length, symbol })).sort((a, b) =>
    a.length === b.length ? a.symbol - b.symbol : a.length - b.length,
  );
  let next = 0;
  let before = 0;
  for (const { length, symbol } of inOrder) {
    next *= 2 ** (length - before);
    before = length;
    codes[symbol] = [next++, length];
  }
  return codes;
}

/** Two slots a node, for bit 0 and bit 1: a further node, or -1 - symbol. */
const TREE = buildTree();

function buildTree(): Int16Array {
  const tree = new Int16Array(2 * EOS);
  let nodes = 1;
  for (const [symbol, [bits, length]] of HUFFMAN_CODES.entries()) {
    let node = 0;
    for (let shift = length - 1; shift > 0; shift--) {
      const slot = 2 * node + ((bits >>> shift) & 1);
      if (tree[slot] === 0) tree[slot] = nodes++;
      node = tree[slot] ?? 0;
    }
    tree[2 * node + (bits & 1)] = -1 - symbol;
  }
  return tree;
}

/**
 * Decodes a string of `block` between two offsets; the result has one character per octet (latin1).
 *
 * @throws PeerFault PROTOCOL when the padding is too long or not of ones, or EOS occurs (RFC 7541 5.2)
 */
export function decodeHuffman(block: Buffer, start: number, end: number): string {
  const octets = Buffer.allocUnsafe(Math.floor(((end - start) * 8) / 5));
  let written = 0;
  let node = 0;
  let pending = 0;
  let onesOnly = true;
  for (let at = start; at < end; at++) {
    const octet = block[at] ?? 0;
    for (let shift = 7; shift >= 0; shift--) {
      const bit = (octet >>> shift) & 1;
      const next = TREE[2 * node + bit] ?? 0;
      if (next >= 0) {
        node = next;
        pending++;
        onesOnly &&= bit === 1;
        continue;
      }
      const symbol = -1 - next;
      if (symbol === EOS) throw malformed('a Huffman string contains EOS');
      octets[written++] = symbol;
      node = 0;
      pending = 0;
      onesOnly = true;
    }
  }
  if (pending > LONGEST_PADDING || !onesOnly) throw malformed('a Huffman string is padded wrongly');
  return octets.toString('latin1', 0, written);
}
