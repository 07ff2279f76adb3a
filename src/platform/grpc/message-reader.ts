// The messages of one answer (gRPC over HTTP/2, "Length-Prefixed-Message"): one octet says whether it is compressed, four
// how long it is, then it comes. Holds at most what flow control lets in, and one message.

const PREFIX_BYTES = 5;

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
  #pieces: Buffer[] = [];
  #left = 0;

  /** @param maxBytes the largest message taken */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /**
   * Takes the next octets.
   *
   * @returns messages that are whole now, in order
   * @throws UnreadableMessage; nothing more is to be taken then
   */
  take(chunk: Buffer): Buffer[] {
    const messages: Buffer[] = [];
    let at = 0;
    while (at < chunk.length) {
      if (this.#prefixBytes < PREFIX_BYTES) {
        const taken = chunk.copy(this.#prefix, this.#prefixBytes, at, at + PREFIX_BYTES - this.#prefixBytes);
        this.#prefixBytes += taken;
        at += taken;
        if (this.#prefixBytes < PREFIX_BYTES) break;
        this.#begin();
      }
      const step = Math.min(this.#left, chunk.length - at);
      if (step > 0) this.#pieces.push(chunk.subarray(at, at + step));
      at += step;
      this.#left -= step;
      if (this.#left > 0) break;
      // A copy: what arrived is part of a far larger piece of memory, and lists are kept.
      messages.push(Buffer.concat(this.#pieces));
      this.#pieces = [];
      this.#prefixBytes = 0;
    }
    return messages;
  }

  #begin(): void {
    const length = this.#prefix.readUInt32BE(1);
    if (length > this.#maxBytes) {
      throw new UnreadableMessage(`Received message larger than max (${length} vs ${this.#maxBytes})`, true);
    }
    if (this.#prefix[0] !== 0)
      throw new UnreadableMessage('the answer is compressed, and nobody asked for that', false);
    this.#left = length;
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
