// Small DATA frames that come in one read, as one frame of each call: Node makes an object of each frame, and calls the gRPC library
// with it. Nothing is held between two reads.
import { encodeHead, FRAME, SAFE_FRAME_BYTES } from './frames.js';

/** A DATA frame of so many octets is worth an object of its own; smaller ones are gathered. */
export const WORTH_BYTES = 1024;

/** What came of one call. */
interface Run {
  readonly pieces: Buffer[];
  bytes: number;
}

/** The small frames of what is being read. */
export class DataRun {
  readonly #runs = new Map<number, Run>();

  /** Nothing is gathered. */
  get isEmpty(): boolean {
    return this.#runs.size === 0;
  }

  /**
   * Adds the content of a frame, fewer octets than `WORTH_BYTES`; it stays where it is until the next `release`.
   *
   * @returns the pieces of a frame, if enough for the largest was gathered of its call
   */
  add(stream: number, content: Buffer): readonly Buffer[] {
    const run = this.#runs.get(stream);
    if (run !== undefined && run.bytes + content.length <= SAFE_FRAME_BYTES) {
      run.pieces.push(content);
      run.bytes += content.length;
      return [];
    }
    this.#runs.set(stream, { pieces: [content], bytes: content.length });
    return run === undefined ? [] : piecesOf(stream, run);
  }

  /** All that was gathered, as the pieces of one frame of each call. */
  release(): readonly Buffer[] {
    if (this.isEmpty) return [];
    const pieces = Array.from(this.#runs, ([stream, run]) => piecesOf(stream, run)).flat();
    this.#runs.clear();
    return pieces;
  }
}

function piecesOf(stream: number, { pieces, bytes }: Run): readonly Buffer[] {
  return [encodeHead({ type: FRAME.DATA, flags: 0, stream, length: bytes }), ...pieces];
}
