// A body in gzip (RFC 1952) that is put together of pieces: each is packed once, as blocks of deflate that end at a whole
// octet and look back at nothing before them, so that an unchanged piece is never packed again. One member and not one for
// each piece, because browsers read the first member only.
// eslint-disable-next-line n/no-unsupported-features/node-builtins -- every supported line has it: since 20.15 and 22.2
import { constants, crc32, deflateRawSync } from 'node:zlib';
import { slices } from '../time/slices.js';

/** Deflate, no name, no time, any system. */
const HEAD = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);
/** A last block with nothing in it. */
const LAST_BLOCK = Buffer.from([0x03, 0x00]);
/** Fast counts more than small, and each piece ends at a whole octet. */
const HOW = { level: constants.Z_BEST_SPEED, finishFlush: constants.Z_SYNC_FLUSH };
/** The bytes packed in one go: a fraction of a millisecond. */
const AT_ONCE_BYTES = 64 * 1024;

/** Packs, on the loop and in slices: the threads have files to write. */
export class PackedPieces {
  /** Kept for as long as somebody has the piece. */
  readonly #packed = new WeakMap<Buffer, Buffer>();

  /** The pieces behind each other, in gzip. */
  async gzip(pieces: readonly Buffer[]): Promise<Buffer> {
    const rest = slices();
    const parts: Buffer[] = [HEAD];
    let sum = 0;
    let length = 0;
    for (const piece of pieces) {
      parts.push(this.#packed.get(piece) ?? (await this.#pack(piece, rest)));
      sum = crc32(piece, sum);
      length += piece.length;
    }
    const end = Buffer.alloc(8);
    end.writeUInt32LE(sum, 0);
    end.writeUInt32LE(length, 4);
    return Buffer.concat([...parts, LAST_BLOCK, end]);
  }

  async #pack(piece: Buffer, rest: () => Promise<void> | undefined): Promise<Buffer> {
    const blocks: Buffer[] = [];
    for (let at = 0; at < piece.length; at += AT_ONCE_BYTES) {
      blocks.push(deflateRawSync(piece.subarray(at, at + AT_ONCE_BYTES), HOW));
      const others = rest();
      if (others !== undefined) await others;
    }
    const packed = Buffer.concat(blocks);
    this.#packed.set(piece, packed);
    return packed;
  }
}
