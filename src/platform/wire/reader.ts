// Reads the protobuf wire format with every length checked: https://protobuf.dev/programming-guides/encoding/
import { isUtf8 } from 'node:buffer';
import { WireError } from './wire-error.js';

/** How a field is framed; the low three bits of a tag. */
export const WIRE = { VARINT: 0, FIXED64: 1, BYTES: 2, FIXED32: 5 } as const;

/** The character that stands in the place of undecodable bytes, and the cheap hint that text needs a second look. */
const REPLACEMENT = '\ufffd';

/** A cursor over one message. All methods throw WireError and name `where` in it. */
export class Reader {
  readonly #bytes: Buffer;
  pos: number;
  /** Where the message that is being read ends; narrowed while a nested message is read. */
  end: number;
  /** The halves of the last varint, each an unsigned 32-bit number. */
  low = 0;
  high = 0;
  /**
   * How many fields and packed numbers it may still have, at all levels and known or not: each costs far more than its two bytes.
   */
  valuesLeft = Infinity;

  constructor(bytes: Buffer, pos = 0, end = bytes.length) {
    this.#bytes = bytes;
    this.pos = pos;
    this.end = end;
  }

  /** Reads a varint of at most ten bytes into `low` and `high`. */
  varint(where: string): void {
    this.high = 0;
    const first = this.pos < this.end ? (this.#bytes[this.pos] as number) : 0x80;
    if (first < 0x80) {
      this.low = first;
      this.pos++;
      return;
    }
    this.low = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      if (this.pos >= this.end) throw new WireError(`${where} ends in the middle of a number`);
      const byte = this.#bytes[this.pos++] as number;
      const bits = byte & 0x7f;
      if (shift < 28) this.low |= bits << shift;
      else if (shift === 28) {
        this.low |= bits << 28;
        this.high |= bits >>> 4;
      } else if (shift < 63) this.high |= bits << (shift - 32);
      else this.high |= (bits & 1) << 31;
      if (byte < 0x80) {
        this.low >>>= 0;
        this.high >>>= 0;
        return;
      }
    }
    throw new WireError(`${where} has a number of more than ten bytes`);
  }

  /** Counts a field, or a packed number. */
  value(where: string): void {
    this.valuesLeft -= 1;
    if (this.valuesLeft < 0) throw new WireError(`${where}: there are more values than are read`);
  }

  /** Reads a tag: the field number times eight plus the framing. */
  tag(where: string): number {
    this.varint(where);
    if (this.high !== 0 || this.low < 8) throw new WireError(`${where} has an impossible field number`);
    return this.low;
  }

  /** Reads a signed number; one that a number cannot hold exactly is refused. */
  int64(where: string): number {
    this.varint(where);
    const value = (this.high | 0) * 4_294_967_296 + this.low;
    if (!Number.isSafeInteger(value)) throw new WireError(`${where} is too large a number`);
    return value;
  }

  /** Reads an unsigned number; one that a number cannot hold exactly is refused. */
  uint64(where: string): number {
    this.varint(where);
    const value = this.high * 4_294_967_296 + this.low;
    if (!Number.isSafeInteger(value)) throw new WireError(`${where} is too large a number`);
    return value;
  }

  /** Reads a length and returns where the value ends. */
  lengthEnd(where: string): number {
    this.varint(where);
    const end = this.pos + this.low;
    if (this.high !== 0 || end > this.end) throw new WireError(`${where} claims more bytes than there are`);
    return end;
  }

  /** Reads text; bytes that are not UTF-8 are refused, never replaced. */
  text(where: string): string {
    const end = this.lengthEnd(where);
    const text = this.#bytes.toString('utf8', this.pos, end);
    if (text.includes(REPLACEMENT) && !isUtf8(this.#bytes.subarray(this.pos, end))) {
      throw new WireError(`${where} is not valid UTF-8`);
    }
    this.pos = end;
    return text;
  }

  /** Reads bytes as a copy, so that a small field does not keep a large message alive. */
  bytes(where: string): Buffer {
    const end = this.lengthEnd(where);
    const copy = Buffer.from(this.#bytes.subarray(this.pos, end));
    this.pos = end;
    return copy;
  }

  /** Steps over a field that the reader does not know. Groups are refused: proto3 has none, and they nest without end. */
  skip(tag: number, where: string): void {
    const framing = tag & 7;
    if (framing === WIRE.VARINT) this.varint(where);
    else if (framing === WIRE.BYTES) this.pos = this.lengthEnd(where);
    else if (framing === WIRE.FIXED64) this.#advance(8, where);
    else if (framing === WIRE.FIXED32) this.#advance(4, where);
    else throw new WireError(`${where} has a field of a framing that proto3 does not know`);
  }

  #advance(count: number, where: string): void {
    if (this.pos + count > this.end) throw new WireError(`${where} ends in the middle of a field`);
    this.pos += count;
  }
}
