// Decodes the header blocks of the client's encoder, and so mirrors its table.
import { malformed, PeerFault } from './fault.js';
import { HeaderField } from './hpack-field.js';
import { HpackTable } from './hpack-table.js';
import { decodeHuffman } from './huffman.js';

/** SETTINGS_HEADER_TABLE_SIZE before any SETTINGS (RFC 9113 6.5.2). */
const DEFAULT_TABLE_BYTES = 4096;
/** Octets an integer may go on for: four carry 28 bits, more than any length or index that passes the other bounds. */
const LONGEST_INTEGER = 4;

/** The decoding half of HPACK (RFC 7541). After a fault it is out of step and must not be used again. */
export class HpackDecoder {
  readonly #table = new HpackTable(DEFAULT_TABLE_BYTES);
  readonly #listBytes: number;
  /** The largest table the encoder may use: the size that its peer announced and it acknowledged. */
  #limit = DEFAULT_TABLE_BYTES;
  /** The size to which the encoder still has to reduce its table. */
  #owed: number | undefined;
  #block: Buffer = Buffer.alloc(0);
  #at = 0;

  /** @param listBytes the largest header list that is decoded (RFC 9113 6.5.2 counts 32 octets a field on top) */
  constructor(listBytes: number) {
    this.#listBytes = listBytes;
  }

  /** The mirrored table. */
  get table(): Pick<HpackTable, 'capacity' | 'size' | 'entries'> {
    return this.#table;
  }

  /**
   * The encoder acknowledged a SETTINGS_HEADER_TABLE_SIZE. Where that is smaller than its table it has to say so at the
   * start of its next block, beginning with the smallest of several (RFC 7541 4.2).
   */
  limitTable(bytes: number): void {
    this.#limit = bytes;
    if (bytes < this.#table.capacity) this.#owed = Math.min(this.#owed ?? bytes, bytes);
  }

  /**
   * Decodes one complete header block.
   *
   * @throws PeerFault PROTOCOL when it is malformed, HEADER_BOMB as soon as its list exceeds the bound
   */
  decode(block: Buffer): HeaderField[] {
    this.#block = block;
    this.#at = 0;
    this.#takeSizeUpdates();
    const fields: HeaderField[] = [];
    let bytes = 0;
    while (this.#at < block.length) {
      const field = this.#field();
      bytes += field.size;
      if (bytes > this.#listBytes) {
        throw new PeerFault('HEADER_BOMB', `the peer sent a header list of more than ${this.#listBytes} bytes`);
      }
      fields.push(field);
    }
    return fields;
  }

  #takeSizeUpdates(): void {
    while (((this.#block[this.#at] ?? 0) & 0xe0) === 0x20) {
      const size = this.#integer(5);
      const most = Math.min(this.#limit, this.#owed ?? this.#limit);
      if (size > most) throw malformed(`a header table of ${size} bytes where ${most} are allowed`);
      this.#table.resize(size);
      this.#owed = undefined;
    }
    if (this.#owed !== undefined) throw malformed('a header table was not reduced although its limit was');
  }

  #field(): HeaderField {
    const first = this.#block[this.#at] ?? 0;
    if (first >= 0x80) return this.#table.at(this.#integer(7));
    if (first >= 0x40) {
      const field = this.#literal(6, false);
      this.#table.add(field);
      return field;
    }
    if (first >= 0x20) throw malformed('a header table size update inside a header block');
    return this.#literal(4, first >= 0x10);
  }

  #literal(prefixBits: number, sensitive: boolean): HeaderField {
    const index = this.#integer(prefixBits);
    const name = index === 0 ? this.#string() : this.#table.at(index).name;
    return new HeaderField(name, this.#string(), sensitive);
  }

  #string(): string {
    const isHuffman = (this.#block[this.#at] ?? 0) >= 0x80;
    const length = this.#integer(7);
    const start = this.#at;
    const end = start + length;
    if (end > this.#block.length) throw malformed('a header string is longer than its block');
    this.#at = end;
    return isHuffman ? decodeHuffman(this.#block, start, end) : this.#block.toString('latin1', start, end);
  }

  /** An integer with a prefix of some bits (RFC 7541 5.1). */
  #integer(prefixBits: number): number {
    const first = this.#octet();
    const full = (1 << prefixBits) - 1;
    let value = first & full;
    if (value < full) return value;
    for (let octets = 0; octets < LONGEST_INTEGER; octets++) {
      const octet = this.#octet();
      value += (octet & 0x7f) << (7 * octets);
      if (octet < 0x80) return value;
    }
    throw malformed('a header integer is too long');
  }

  #octet(): number {
    const octet = this.#block[this.#at++];
    if (octet === undefined) throw malformed('a header block is cut off');
    return octet;
  }
}
