// The hashes of one generation after the other. Most bytes of a generation stand in the one before as well, from the first one on:
// the hash of those is gone on with, instead of being made again.
import { createHash, type Hash } from 'node:crypto';

/** Bytes after each of which the hash up to there is kept. */
const BLOCK = 32 * 1024;

/** SHA-256 of bytes that begin as those before them did. */
export class PrefixHash {
  /** Those that were hashed last; nobody changes them. */
  #bytes: Uint8Array = new Uint8Array(0);
  /** The hash up to the end of each whole block of them. */
  #kept: readonly Hash[] = [];

  /** In hexadecimal. @param bytes nobody changes them afterwards */
  of(bytes: Uint8Array): string {
    const blocks = Math.floor(bytes.length / BLOCK);
    const block = (of: Uint8Array, nth: number): Uint8Array => of.subarray(nth * BLOCK, (nth + 1) * BLOCK);
    const differs = this.#kept.findIndex((_, nth) => Buffer.compare(block(bytes, nth), block(this.#bytes, nth)) !== 0);
    const kept = this.#kept.slice(0, differs === -1 ? blocks : differs);
    const hash = kept.at(-1)?.copy() ?? createHash('sha256');
    while (kept.length < blocks) kept.push(hash.update(block(bytes, kept.length)).copy());
    this.#bytes = bytes;
    this.#kept = kept;
    return hash.update(bytes.subarray(blocks * BLOCK)).digest('hex');
  }
}
