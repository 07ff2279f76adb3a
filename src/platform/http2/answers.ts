// From a server that we called to our client: counts its frames, and makes few large DATA frames of many small ones. The
// library keeps an object for each DATA frame of a message that is not complete: one octet each, a message of 16 MiB
// would cost it gigabytes.
import type { GuardSettings } from '../../model/settings.js';
import { WORTH_BYTES } from './data-run.js';
import { malformed, PeerFault } from './fault.js';
import { FrameCutter } from './frame-cutter.js';
import { encodeFrame, FLAG, FRAME, HEAD_BYTES, SAFE_FRAME_BYTES, type FrameHead } from './frames.js';
import type { Guard } from './guard.js';
import { MessageMeter } from './message-meter.js';
import { PassingData } from './passing-data.js';

/** Bytes gathered of one call at most; far less than the window of a connection, which they take up meanwhile. */
const GATHERED_BYTES = 2048;
/** Of a frame's head, the octet that says its type. */
const TYPE_AT = 3;
/** An answer begins with one header block and ends with another; every further one is informational (1xx). */
const BLOCKS_OF_A_CALL = 2;

/** A call that waits for its answer. */
interface Call {
  blocks: number;
  readonly meter: MessageMeter;
  /** DATA that is held until it is worth passing on. */
  gathered: Buffer | undefined;
  bytes: number;
}

/** Reads one server. Out of use after the first PeerFault. */
export class Answers extends FrameCutter {
  readonly #settings: Pick<GuardSettings, 'headerBytes' | 'continuations'>;
  readonly #guard: Guard;
  readonly #calls = new Map<number, Call>();
  #hasSettings = false;
  #block: { readonly stream: number; bytes: number; parts: number; endsStream: boolean } | undefined;
  #blockSince: number | undefined;
  /** Calls of which whole messages are gathered. */
  readonly #ripe = new Set<number>();
  /** Gathered of calls that were given up, and of whole messages; goes on between two frames. */
  readonly #leftOver: Buffer[] = [];
  /** The DATA frame that passes. */
  #data: PassingData | undefined;

  /** @param settings the bounds of one header block */
  constructor(settings: Pick<GuardSettings, 'headerBytes' | 'continuations'>, guard: Guard) {
    super();
    this.#settings = settings;
    this.#guard = guard;
  }

  /** Since when a header block is incomplete. */
  get blockSince(): number | undefined {
    return this.#blockSince;
  }

  /** Calls that wait for the end of their answer. */
  get openCalls(): number {
    return this.#calls.size;
  }

  /** We opened a call. */
  opened(stream: number): void {
    if (this.#calls.has(stream)) return;
    this.#calls.set(stream, { blocks: 0, meter: new MessageMeter(), gathered: undefined, bytes: 0 });
  }

  /** We gave a call up. The gathered bytes of it still have to be seen by the client, which accounts for windows. */
  givenUp(stream: number): void {
    this.#leftOver.push(...this.#release(stream));
    this.#calls.delete(stream);
  }

  protected override need(head: FrameHead, now: number): number {
    if (head.length > SAFE_FRAME_BYTES) throw malformed(`a frame of ${head.length} bytes`);
    if (head.type === FRAME.HEADERS) this.#blockSince ??= now;
    const isPadded = (head.flags & FLAG.PADDED) !== 0;
    if (head.type > FRAME.CONTINUATION) return HEAD_BYTES;
    if (head.type !== FRAME.DATA || head.length < WORTH_BYTES) return HEAD_BYTES + head.length;
    return HEAD_BYTES + (isPadded ? 1 : 0);
  }

  protected override frame(head: FrameHead, bytes: Buffer, at: number): readonly Buffer[] | undefined {
    const isInBlock = this.#block !== undefined;
    const instead = this.#look(head, bytes, at);
    if (this.#leftOver.length === 0 || isInBlock) return instead;
    const size = this.isStreaming ? HEAD_BYTES : HEAD_BYTES + head.length;
    return [...this.#leftOver.splice(0), ...(instead ?? [bytes.subarray(at, at + size)])];
  }

  protected override last(): readonly Buffer[] {
    for (const stream of this.#ripe) {
      if (this.#calls.get(stream)?.meter.isBetween === true) this.#leftOver.push(...this.#release(stream));
    }
    this.#ripe.clear();
    return this.isStreaming || this.#block !== undefined ? [] : this.#leftOver.splice(0);
  }

  #look(head: FrameHead, bytes: Buffer, at: number): readonly Buffer[] | undefined {
    if (!this.#hasSettings && (head.type !== FRAME.SETTINGS || (head.flags & FLAG.ACK) !== 0)) {
      throw malformed('its first frame is not SETTINGS');
    }
    if (this.#block !== undefined && head.type !== FRAME.CONTINUATION) throw malformed('a frame inside a header block');
    if (head.type === FRAME.DATA) return this.#dataFrame(head, bytes, at);
    this.#guard.count('frames');
    switch (head.type) {
      case FRAME.HEADERS:
        return this.#headers(head, bytes.subarray(at, at + HEAD_BYTES + head.length));
      case FRAME.CONTINUATION:
        this.#continuation(head);
        return undefined;
      case FRAME.SETTINGS:
        this.#hasSettings = true;
        this.#guard.count('settings');
        return undefined;
      case FRAME.PING:
        this.#guard.count('pings');
        return undefined;
      case FRAME.PRIORITY:
        this.#guard.count('priorities');
        return [];
      case FRAME.RST_STREAM:
        if (!this.#calls.has(head.stream)) this.#guard.count('resets');
        return this.#reset(head.stream, bytes.subarray(at, at + HEAD_BYTES + head.length));
      case FRAME.WINDOW_UPDATE:
        this.#guard.count('windowUpdates');
        return undefined;
      case FRAME.PUSH_PROMISE:
        throw malformed('PUSH_PROMISE, which no gRPC server sends');
      case FRAME.GOAWAY:
        this.#guard.strayPayload(head.length);
        return undefined;
      default:
        // The client would skip it; so it is not even shown to it.
        this.stream(head.length, true);
        this.#guard.strayPayload(head.length);
        return [];
    }
  }

  protected override passed(bytes: Buffer, from: number, to: number, isLast: boolean): void {
    const data = this.#data;
    if (data === undefined) return;
    const { start, end } = data.pass(from, to);
    this.#calls.get(data.stream)?.meter.see(bytes, start, end);
    if (!isLast) return;
    this.#data = undefined;
    if (data.endsStream) this.#complete(data.stream);
  }

  #headers(head: FrameHead, frame: Buffer): readonly Buffer[] | undefined {
    if (head.stream === 0) throw malformed('HEADERS on stream 0');
    const call = this.#calls.get(head.stream);
    if (call !== undefined) call.blocks += 1;
    if (call === undefined || call.blocks > BLOCKS_OF_A_CALL) this.#guard.count('informational');
    const endsStream = (head.flags & FLAG.END_STREAM) !== 0;
    this.#block = { stream: head.stream, bytes: 0, parts: 0, endsStream };
    const gathered = this.#release(head.stream);
    this.#blockPart(head);
    return gathered.length === 0 ? undefined : [...gathered, frame];
  }

  #continuation(head: FrameHead): void {
    if (this.#block?.stream !== head.stream) throw malformed('CONTINUATION without a header block of its stream');
    if (head.length === 0) this.#guard.count('emptyFrames');
    this.#blockPart(head);
  }

  #blockPart(head: FrameHead): void {
    const block = this.#block;
    if (block === undefined) return;
    const { headerBytes, continuations } = this.#settings;
    block.bytes += head.length;
    block.parts += 1;
    if (block.bytes > headerBytes) {
      const code = block.parts > 1 ? 'CONTINUATION_FLOOD' : 'HEADER_BOMB';
      throw new PeerFault(code, `the peer sent a header block of more than ${headerBytes} bytes`);
    }
    if (block.parts > continuations + 1) {
      throw new PeerFault('CONTINUATION_FLOOD', `the peer split a header block into more than ${continuations} parts`);
    }
    if ((head.flags & FLAG.END_HEADERS) === 0) return;
    this.#block = undefined;
    this.#blockSince = undefined;
    if (block.endsStream) this.#complete(block.stream);
  }

  #dataFrame(head: FrameHead, bytes: Buffer, at: number): readonly Buffer[] | undefined {
    const data = new PassingData(head, bytes[at + HEAD_BYTES] ?? 0);
    const { endsStream, contentBytes: content } = data;
    const isPadded = (head.flags & FLAG.PADDED) !== 0;
    // Padding takes up windows, so it cannot be taken out; a padded frame carries less than it costs.
    if (isPadded || (content <= 0 && !endsStream)) this.#guard.count('emptyFrames');
    if (content < 0) throw malformed('DATA with more padding than payload');
    const call = this.#calls.get(head.stream);
    if (call !== undefined && content > 0) this.#guard.dataReceived(content);
    if (head.length >= WORTH_BYTES || call === undefined) {
      this.#guard.count('frames');
      if (call === undefined) this.#guard.strayPayload(head.length);
      return this.#passOn(head, bytes.subarray(at, at + HEAD_BYTES), data);
    }
    const frame = bytes.subarray(at, at + HEAD_BYTES + head.length);
    const { start, end } = data.pass(HEAD_BYTES, frame.length);
    call.meter.see(frame, start, end);
    const isWhole = call.meter.isBetween;
    if (!isWhole || content === 0) this.#guard.count('frames');
    if (content === 0 && !isPadded && !endsStream) return [];
    // The end of a message passes with what was read; how many messages are taken is a matter of windows, and of flood.updates.
    const mayPass = isPadded || endsStream || (isWhole && isOver(bytes, at + frame.length));
    if (!mayPass) {
      if (isWhole) this.#ripe.add(head.stream);
      return this.#gather(call, head.stream, frame.subarray(HEAD_BYTES));
    }
    if (call.gathered === undefined) {
      if (endsStream) this.#complete(head.stream);
      return undefined;
    }
    if (!isPadded && !endsStream && call.bytes + content <= GATHERED_BYTES) {
      this.#gather(call, head.stream, frame.subarray(HEAD_BYTES));
      return this.#release(head.stream);
    }
    const instead = [...this.#release(head.stream), frame];
    if (endsStream) this.#complete(head.stream);
    return instead;
  }

  /** A DATA frame that passes as it comes. A small one is whole already. */
  #passOn(head: FrameHead, frameHead: Buffer, data: PassingData): readonly Buffer[] | undefined {
    const gathered = this.#release(head.stream);
    this.#data = data;
    this.stream(head.length);
    if (head.length === 0) this.passed(frameHead, 0, 0, true);
    return gathered.length === 0 ? undefined : [...gathered, frameHead];
  }

  #gather(call: Call, stream: number, content: Buffer): readonly Buffer[] {
    const out = call.bytes + content.length > GATHERED_BYTES ? this.#release(stream) : [];
    call.gathered ??= Buffer.allocUnsafeSlow(GATHERED_BYTES);
    content.copy(call.gathered, call.bytes);
    call.bytes += content.length;
    return out;
  }

  /** The gathered bytes of a call, as a frame. */
  #release(stream: number): readonly Buffer[] {
    const call = this.#calls.get(stream);
    if (call?.gathered === undefined) return [];
    const frame = encodeFrame(FRAME.DATA, 0, stream, call.gathered.subarray(0, call.bytes));
    call.gathered = undefined;
    call.bytes = 0;
    return [frame];
  }

  #reset(stream: number, frame: Buffer): readonly Buffer[] | undefined {
    const gathered = this.#release(stream);
    this.#calls.delete(stream);
    return gathered.length === 0 ? undefined : [...gathered, frame];
  }

  #complete(stream: number): void {
    if (this.#calls.delete(stream)) this.#guard.callCompleted();
  }
}

/** Whether nothing follows at this offset that was read, or the trailers of a call: most answers are then passed on as they are. */
function isOver(bytes: Buffer, at: number): boolean {
  return at + TYPE_AT >= bytes.length || bytes[at + TYPE_AT] === FRAME.HEADERS;
}
