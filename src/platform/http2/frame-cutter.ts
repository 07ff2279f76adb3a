// Cuts the octets of one side into frames. Large DATA is never held or copied here; other frames are held until they are whole.
import { HEAD_BYTES, readHead, type FrameHead } from './frames.js';

const NOTHING: Buffer = Buffer.alloc(0);

/** Memory for octets that are held begins with this. */
const FIRST_BYTES = 64;

/** Octets that pass without being held: the payload of a frame whose head was looked at. */
interface Passing {
  /** Octets that are still to come. */
  left: number;
  /** They are taken out instead. */
  readonly isDropped: boolean;
}

/** Reads one side of a connection frame by frame. Out of use after the first PeerFault. */
export abstract class FrameCutter {
  /** Octets that wait for the rest of their frame, and how many make it worth looking again. A copy: the pieces that they come
   * in may be single octets, each of which is a part of a far larger piece of memory. */
  #held: Buffer = NOTHING;
  #heldBytes = 0;
  #needBytes: number;
  #passing: Passing | undefined;

  /** @param firstBytes octets that must be there before anything is looked at */
  constructor(firstBytes = 0) {
    this.#needBytes = firstBytes;
  }

  /**
   * Takes the next octets.
   *
   * @param now milliseconds on the monotonic scale
   * @returns the octets that the other side may read now; possibly empty
   * @throws PeerFault when the peer is to be cut off
   */
  take(chunk: Buffer, now: number): Buffer {
    const bytes = this.#join(chunk);
    if (bytes === undefined) return NOTHING;
    const out: Buffer[] = [];
    let at = this.begin(bytes);
    if (at === undefined) return NOTHING;
    let passedTo = 0;
    const replace = (from: number, to: number, instead: readonly Buffer[]): void => {
      if (from > passedTo) out.push(bytes.subarray(passedTo, from));
      out.push(...instead);
      passedTo = to;
    };
    while (at < bytes.length) {
      if (this.#passing !== undefined) {
        const to = this.#pass(this.#passing, bytes, at, now);
        if (to.isDropped) replace(at, to.at, []);
        at = to.at;
        continue;
      }
      const head = bytes.length - at < HEAD_BYTES ? undefined : readHead(bytes, at);
      const need = head === undefined ? HEAD_BYTES : this.need(head, now);
      if (head === undefined || bytes.length - at < need || this.mustWait(head)) {
        this.hold(bytes.subarray(at), need);
        break;
      }
      const instead = this.frame(head, bytes, at, now);
      const size = this.isStreaming ? HEAD_BYTES : HEAD_BYTES + head.length;
      if (instead !== undefined) replace(at, at + size, instead);
      at += size;
    }
    const last = this.last();
    if (passedTo === 0 && at === bytes.length && last.length === 0) return bytes;
    if (at > passedTo) out.push(bytes.subarray(passedTo, at));
    out.push(...last);
    return out.length === 1 ? (out[0] ?? NOTHING) : Buffer.concat(out);
  }

  /** Octets of memory that are held. */
  get heldBytes(): number {
    return this.#held.length;
  }

  /** Keeps octets until there are enough of them. */
  protected hold(rest: Buffer, need: number): void {
    this.#held = NOTHING;
    this.#heldBytes = 0;
    this.#needBytes = need;
    this.#keep(rest);
  }

  /** Whether the payload of the frame at hand passes without being held. */
  protected get isStreaming(): boolean {
    return this.#passing !== undefined;
  }

  /** The payload of the frame at hand is not held: it passes as it comes, or is taken out. */
  protected stream(bytes: number, isDropped = false): void {
    this.#passing = bytes > 0 ? { left: bytes, isDropped } : undefined;
  }

  /** Where the first frame begins; undefined while that is not known (then the octets were held). */
  protected begin(_bytes: Buffer): number | undefined {
    return 0;
  }

  /** How many octets of a frame must be there before it is looked at. @throws PeerFault when it is too large */
  protected abstract need(head: FrameHead, now: number): number;

  /** Whether a frame may not be looked at yet, however much of it is there. */
  protected mustWait(_head: FrameHead): boolean {
    return false;
  }

  /** Whether nothing is to be looked at before somebody says so. */
  protected get isWaiting(): boolean {
    return false;
  }

  /** Looks at the frame at `at` (a streamed one: its head); returns the bytes that pass in its place if it does not itself. */
  protected abstract frame(head: FrameHead, bytes: Buffer, at: number, now: number): readonly Buffer[] | undefined;

  /** Frames that pass after all that were looked at. The last of those may not have passed to its end: then none may. */
  protected last(): readonly Buffer[] {
    return [];
  }

  /** A piece of a streamed payload passed; `isLast` when its frame is complete. */
  protected abstract passed(bytes: Buffer, from: number, to: number, isLast: boolean, now: number): void;

  /** Adds to the held bytes; undefined while they are too few. */
  #join(chunk: Buffer): Buffer | undefined {
    const isEnough = !this.isWaiting && this.#heldBytes + chunk.length >= this.#needBytes;
    if (isEnough && this.#heldBytes === 0) {
      this.#needBytes = 0;
      return chunk;
    }
    this.#keep(chunk);
    if (!isEnough) return undefined;
    const joined = this.#held.subarray(0, this.#heldBytes);
    this.#held = NOTHING;
    this.#heldBytes = 0;
    this.#needBytes = 0;
    return joined;
  }

  /** Copies octets behind those that are held, into memory that grows by doubling. */
  #keep(chunk: Buffer): void {
    const bytes = this.#heldBytes + chunk.length;
    if (bytes > this.#held.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(bytes, 2 * this.#held.length, FIRST_BYTES));
      this.#held.copy(larger, 0, 0, this.#heldBytes);
      this.#held = larger;
    }
    chunk.copy(this.#held, this.#heldBytes);
    this.#heldBytes = bytes;
  }

  #pass(passing: Passing, bytes: Buffer, at: number, now: number): { at: number; isDropped: boolean } {
    const to = Math.min(bytes.length, at + passing.left);
    passing.left -= to - at;
    const isLast = passing.left === 0;
    if (isLast) this.#passing = undefined;
    if (!passing.isDropped) this.passed(bytes, at, to, isLast, now);
    return { at: to, isDropped: passing.isDropped };
  }
}
