// The messages of one answer (gRPC over HTTP/2, "Length-Prefixed-Message"): one octet says whether it is compressed, four how
// long it is, then it comes. Holds at most as much as flow control lets in, and twice the part of one message that has come: a
// piece of it is part of a far larger piece of memory, which would be kept with it. Messages are cut out one at a time, when they are
// wanted: a message of no octets would take fifty times what it takes on the wire.

const PREFIX_BYTES = 5;
/** Memory for a message that comes in pieces grows from here, by doubling. */
const FIRST_BYTES = 16 * 1024;
const NOTHING: Buffer = Buffer.alloc(0);

/** An answer that is not taken: too large, or compressed although nobody offered to read that. */
export class UnreadableMessage extends Error {
  override readonly name = 'UnreadableMessage';
  readonly isTooLarge: boolean;
  constructor(message: string, isTooLarge: boolean) {
    super(message);
    this.isTooLarge = isTooLarge;
  }
}

/** Puts messages together. */
export class MessageReader {
  readonly #maxBytes: number;
  readonly #prefix = Buffer.alloc(PREFIX_BYTES);
  #prefixBytes = 0;
  /** Octets that no message was cut out of yet. */
  #unread: Buffer = NOTHING;
  #length = 0;
  /** The part of a message that is not whole. */
  #begun: Buffer | undefined;
  #bytes = 0;

  /** @param maxBytes the largest message taken */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Adds the next octets; they are its own with the next `keep`. */
  add(chunk: Buffer): void {
    this.#unread = this.#unread.length === 0 ? chunk : Buffer.concat([this.#unread, chunk]);
  }

  /**
   * Cuts out the next message.
   *
   * @returns undefined: none is whole yet, and there are no unread octets
   * @throws UnreadableMessage; nothing more is to be taken then
   */
  next(): Buffer | undefined {
    const { length } = this.#prefix;
    if (this.#prefixBytes < length) {
      this.#prefixBytes += this.#cut(length - this.#prefixBytes).copy(this.#prefix, this.#prefixBytes);
      if (this.#prefixBytes < length) return undefined;
      this.#begin();
    }
    const message = this.#put(this.#cut(this.#length - this.#bytes));
    if (message !== undefined) this.#prefixBytes = 0;
    return message;
  }

  /** Octets are left that `next` has not seen. */
  get hasUnread(): boolean {
    return this.#unread.length > 0;
  }

  /** Copies unread octets out of the memory that they came in. */
  keep(): void {
    if (this.hasUnread) this.#unread = Buffer.from(this.#unread);
  }

  /** Nothing more is to be taken. */
  drop(): void {
    this.#unread = NOTHING;
    this.#begun = undefined;
  }

  /** The length of the message that has begun and is not whole; 0: there is none. */
  get begun(): number {
    return this.#prefixBytes === PREFIX_BYTES ? this.#length : 0;
  }

  /** Takes so many of the unread octets, or as many as there are. */
  #cut(bytes: number): Buffer {
    const piece = this.#unread.subarray(0, bytes);
    this.#unread = piece.length === this.#unread.length ? NOTHING : this.#unread.subarray(piece.length);
    return piece;
  }

  /** Adds a piece; returns the message if it is whole by it. */
  #put(piece: Buffer): Buffer | undefined {
    const length = this.#length;
    if (piece.length === length) return Buffer.from(piece);
    if (piece.length === 0) return undefined;
    const bytes = this.#bytes + piece.length;
    let begun = this.#begun ?? Buffer.allocUnsafeSlow(Math.min(length, FIRST_BYTES));
    if (bytes > begun.length) {
      const room = Math.min(length, Math.max(bytes, 2 * begun.length));
      const larger = Buffer.allocUnsafeSlow(room);
      begun.copy(larger, 0, 0, this.#bytes);
      begun = larger;
    }
    piece.copy(begun, this.#bytes);
    const isWhole = bytes === length;
    this.#begun = isWhole ? undefined : begun;
    this.#bytes = isWhole ? 0 : bytes;
    return isWhole ? begun : undefined;
  }

  #begin(): void {
    const length = this.#prefix.readUInt32BE(1);
    if (length > this.#maxBytes) {
      throw new UnreadableMessage(`Received message larger than max (${length} vs ${this.#maxBytes})`, true);
    }
    if (this.#prefix[0] !== 0)
      throw new UnreadableMessage('the answer is compressed, and nobody asked for that', false);
    this.#length = length;
  }
}

/** A message with its prefix. */
export function framed(message: Buffer): Buffer {
  const frame = Buffer.allocUnsafe(PREFIX_BYTES + message.length);
  frame[0] = 0;
  frame.writeUInt32BE(message.length, 1);
  message.copy(frame, PREFIX_BYTES);
  return frame;
}
