// A DATA frame that passes in pieces, as it comes: tells which octets of a piece are content.
import { FLAG, type FrameHead } from './frames.js';

/** One DATA frame (RFC 9113 6.1): perhaps a length of padding, then content, then perhaps padding. */
export class PassingData {
  /** The call that it belongs to. */
  readonly stream: number;
  /** Octets of content in all; below 0 when its padding is longer than its payload. */
  readonly contentBytes: number;
  /** It is the last one of its side of the call. */
  readonly endsStream: boolean;
  /** Octets before its content, and octets of content, that are still to come. */
  #lead: number;
  #left: number;

  /** @param padding the first octet of its payload, which counts only where the frame says that it is padded */
  constructor({ flags, length, stream }: FrameHead, padding: number) {
    this.stream = stream;
    this.endsStream = (flags & FLAG.END_STREAM) !== 0;
    this.#lead = (flags & FLAG.PADDED) !== 0 ? 1 : 0;
    this.contentBytes = length - (this.#lead === 0 ? 0 : 1 + padding);
    this.#left = Math.max(0, this.contentBytes);
  }

  /** Passes the octets of a piece from one offset to another. @returns the offsets between which they are content */
  pass(from: number, to: number): { readonly start: number; readonly end: number } {
    const start = Math.min(to, from + this.#lead);
    const end = Math.min(to, start + this.#left);
    this.#lead -= start - from;
    this.#left -= end - start;
    return { start, end };
  }
}
