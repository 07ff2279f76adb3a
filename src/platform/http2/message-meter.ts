// Where gRPC messages end in the DATA of one call: five octets say how long a message is, then it comes. Holds nothing.

const PREFIX_BYTES = 5;

/** Follows the messages of one request or answer. */
export class MessageMeter {
  #prefix = 0;
  #length = 0;
  #left = 0;

  /** Whether the last octet that was seen ended a message, or none has begun. */
  get isBetween(): boolean {
    return this.#left === 0 && this.#prefix === 0;
  }

  /**
   * Sees content of DATA frames, in order.
   *
   * @returns how many messages began in it, as far as their length is known
   */
  see(bytes: Buffer, from: number, to: number): number {
    let at = from;
    let begun = 0;
    while (at < to) {
      if (this.#left > 0) {
        const step = Math.min(this.#left, to - at);
        this.#left -= step;
        at += step;
        continue;
      }
      // The first octet says whether it is compressed; four are the length.
      if (this.#prefix > 0) this.#length = this.#length * 256 + (bytes[at] ?? 0);
      at += 1;
      this.#prefix += 1;
      if (this.#prefix < PREFIX_BYTES) continue;
      this.#left = this.#length;
      this.#prefix = 0;
      this.#length = 0;
      begun += 1;
    }
    return begun;
  }
}
