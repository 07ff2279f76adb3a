// Writes the protobuf wire format from the end to the front, so that the length of a nested message is known when its
// head is written and every message takes one pass.

/** A buffer that fills from its end. Fields of a message must be given in reverse order. */
export class Writer {
  #bytes = Buffer.allocUnsafe(128);
  #start = 128;

  /** How many bytes have been written. */
  get length(): number {
    return this.#bytes.length - this.#start;
  }

  /** The written bytes. */
  finish(): Buffer {
    return this.#bytes.subarray(this.#start);
  }

  /** An unsigned number below 2^53. */
  count(value: number): void {
    this.varint(value >>> 0, Math.floor(value / 4_294_967_296));
  }

  /** The tag of a field. */
  tag(number: number, framing: number): void {
    this.count(number * 8 + framing);
  }

  /** A 64-bit number given as its two unsigned halves. */
  varint(low: number, high: number): void {
    this.#reserve(10);
    const encoded: number[] = [];
    let [lo, hi] = [low, high];
    while (hi > 0 || lo > 0x7f) {
      encoded.push((lo & 0x7f) | 0x80);
      lo = ((lo >>> 7) | (hi << 25)) >>> 0;
      hi >>>= 7;
    }
    encoded.push(lo);
    this.#start -= encoded.length;
    for (const [index, byte] of encoded.entries()) this.#bytes[this.#start + index] = byte;
  }

  /** Text with its length before it. */
  text(value: string): void {
    const size = Buffer.byteLength(value);
    this.#reserve(size);
    this.#start -= size;
    this.#bytes.write(value, this.#start, 'utf8');
    this.count(size);
  }

  /** Bytes with their length before them. */
  bytes(value: Uint8Array): void {
    this.#reserve(value.length);
    this.#start -= value.length;
    this.#bytes.set(value, this.#start);
    this.count(value.length);
  }

  #reserve(size: number): void {
    if (this.#start >= size) return;
    const grown = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.length + size));
    const start = grown.length - this.length;
    this.#bytes.copy(grown, start, this.#start);
    this.#bytes = grown;
    this.#start = start;
  }
}
