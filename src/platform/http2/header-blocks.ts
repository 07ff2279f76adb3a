// Joins HEADERS and CONTINUATION, decodes every block, and decides whether the server may read it as it came.
//
// Both tables stay in step in one of two modes. As long as nothing had to change, the original octets pass and the server's
// table mirrors the client's, as ours does. From the first block that needs a change on, the server gets literals only,
// after a size update that empties its table; ours goes on mirroring the client's.
import type { GuardSettings } from '../../model/settings.js';
import { withAcceptableAuthority } from './authority.js';
import { malformed, PeerFault } from './fault.js';
import { encodeHeaders, FLAG, FRAME, HEAD_BYTES, type FrameHead } from './frames.js';
import { HpackDecoder } from './hpack-decoder.js';
import { encodeField, FORGET_TABLE } from './hpack-encoder.js';

/** Octets of the deprecated priority fields of a HEADERS frame (RFC 9113 6.2). */
const PRIORITY_BYTES = 5;

/** A header block that has begun. */
interface OpenBlock {
  readonly stream: number;
  readonly endsStream: boolean;
  readonly opensCall: boolean;
  readonly frames: Buffer[];
  readonly fragments: Buffer[];
  bytes: number;
}

/** A header block that is complete. */
export interface HeaderBlock {
  readonly stream: number;
  readonly endsStream: boolean;
  readonly opensCall: boolean;
  /** The frames for the server: as they came, or new ones. */
  readonly frames: readonly Buffer[];
}

/** The header blocks of one client. Bounded by `headerBytes` and `continuations`. */
export class HeaderBlocks {
  readonly #settings: Pick<GuardSettings, 'headerBytes' | 'continuations'>;
  readonly #decoder: HpackDecoder;
  #block: OpenBlock | undefined;
  #isRewriting = false;

  /** @param settings the bounds of one block */
  constructor(settings: Pick<GuardSettings, 'headerBytes' | 'continuations'>) {
    this.#settings = settings;
    this.#decoder = new HpackDecoder(settings.headerBytes);
  }

  /** Whether a block has begun and not ended: then only its CONTINUATION may follow (RFC 9113 6.10). */
  get isOpen(): boolean {
    return this.#block !== undefined;
  }

  /** Octets of the block that has begun. */
  get heldBytes(): number {
    return this.#block?.bytes ?? 0;
  }

  /** The client acknowledged the server's SETTINGS_HEADER_TABLE_SIZE. */
  limitTable(bytes: number): void {
    this.#decoder.limitTable(bytes);
  }

  /**
   * Takes a whole HEADERS or CONTINUATION frame.
   *
   * @param opensCall whether HEADERS begins a request; trailers pass unchanged
   * @returns the block when the frame ends it
   * @throws PeerFault PROTOCOL, HEADER_BOMB or CONTINUATION_FLOOD
   */
  take(head: FrameHead, frame: Buffer, opensCall: boolean): HeaderBlock | undefined {
    const block = head.type === FRAME.HEADERS ? begin(head, frame, opensCall) : this.#continue(head, frame);
    if (block.bytes > this.#settings.headerBytes) {
      const code = block.frames.length > 1 ? 'CONTINUATION_FLOOD' : 'HEADER_BOMB';
      throw new PeerFault(code, `the peer sent a header block of more than ${this.#settings.headerBytes} bytes`);
    }
    const isComplete = (head.flags & FLAG.END_HEADERS) !== 0;
    this.#block = isComplete ? undefined : block;
    if (!isComplete) return undefined;
    const { stream, endsStream } = block;
    return { stream, endsStream, opensCall: block.opensCall, frames: this.#forServer(block) };
  }

  #continue(head: FrameHead, frame: Buffer): OpenBlock {
    const block = this.#block;
    if (block?.stream !== head.stream) throw malformed('CONTINUATION without a header block of its stream');
    if (block.frames.length > this.#settings.continuations) {
      const { continuations } = this.#settings;
      throw new PeerFault('CONTINUATION_FLOOD', `the peer split a header block into more than ${continuations} parts`);
    }
    block.frames.push(frame);
    block.fragments.push(frame.subarray(HEAD_BYTES));
    block.bytes += head.length;
    return block;
  }

  #forServer(block: OpenBlock): readonly Buffer[] {
    const octets = block.fragments.length === 1 ? block.fragments[0] : undefined;
    const fields = this.#decoder.decode(octets ?? Buffer.concat(block.fragments));
    const wanted = block.opensCall ? withAcceptableAuthority(fields) : fields;
    if (wanted === fields && !this.#isRewriting) return block.frames;
    const parts = wanted.map(encodeField);
    if (!this.#isRewriting) parts.unshift(FORGET_TABLE);
    this.#isRewriting = true;
    return encodeHeaders(block.endsStream ? FLAG.END_STREAM : 0, block.stream, Buffer.concat(parts));
  }
}

function begin(head: FrameHead, frame: Buffer, opensCall: boolean): OpenBlock {
  if (head.stream === 0) throw malformed('HEADERS on stream 0');
  const isPadded = (head.flags & FLAG.PADDED) !== 0;
  const padding = isPadded ? (frame[HEAD_BYTES] ?? 0) : 0;
  const start = HEAD_BYTES + (isPadded ? 1 : 0) + ((head.flags & FLAG.PRIORITY) !== 0 ? PRIORITY_BYTES : 0);
  const end = frame.length - padding;
  if (start > end) throw malformed('HEADERS with more padding than payload');
  return {
    stream: head.stream,
    endsStream: (head.flags & FLAG.END_STREAM) !== 0,
    opensCall,
    frames: [frame],
    fragments: [frame.subarray(start, end)],
    bytes: end - start,
  };
}
