// From the client to the server: counts its frames, and passes those that the server may read.
import type { CallTurns } from '../../model/call-turns.js';
import type { GuardSettings } from '../../model/settings.js';
import type { Calls } from './calls.js';
import { malformed } from './fault.js';
import { FLAG, FRAME, HEAD_BYTES, PREFACE, readSettings, SAFE_FRAME_BYTES, SETTING, type FrameHead } from './frames.js';
import { DataRun, WORTH_BYTES } from './data-run.js';
import { FrameCutter } from './frame-cutter.js';
import type { Guard } from './guard.js';
import { HeaderBlocks } from './header-blocks.js';
import { PassingData } from './passing-data.js';

/** The parts of the server's SETTINGS frame that matter for reading the client. */
export interface ServerSettings {
  readonly headerTableBytes: number | undefined;
  readonly maxFrameBytes: number | undefined;
}

/** Reads one client. Out of use after the first PeerFault. */
export class Inbound extends FrameCutter {
  readonly #guard: Guard;
  readonly #calls: Calls;
  readonly #blocks: HeaderBlocks;
  /** SETTINGS of the server that the client has not acknowledged, oldest first. */
  readonly #unacknowledged: ServerSettings[] = [];
  #maxFrameBytes = SAFE_FRAME_BYTES;
  #hasPreface = false;
  #hasSettings = false;
  #blockSince: number | undefined;
  /** The DATA frame that is passing. */
  #data: PassingData | undefined;
  /** Small DATA frames of what is being read. */
  readonly #run = new DataRun();
  /** How many calls may still be opened before the caller allows more. */
  #mayOpen = Infinity;
  #isStalled = false;
  /** The turns that its calls take. */
  #turns: CallTurns | undefined;
  /** A turn was booked for the next call, and has come. */
  #hasTurn = false;

  /** @param settings the bounds of header blocks */
  constructor(settings: GuardSettings, guard: Guard, calls: Calls) {
    // From the first octet on: another protocol is known at once.
    super(1);
    this.#guard = guard;
    this.#calls = calls;
    this.#blocks = new HeaderBlocks(settings);
  }

  /** Whether preface and first SETTINGS have come. */
  get hasBegun(): boolean {
    return this.#hasSettings;
  }

  /** Since when a header block is incomplete. */
  get blockSince(): number | undefined {
    return this.#blockSince;
  }

  /** Octets that are held: of a frame or a header block that is not whole, and of what waits. */
  override get heldBytes(): number {
    return super.heldBytes + this.#blocks.heldBytes;
  }

  /** Whether a further call waits for allowCalls(), or for its turn. */
  get isStalled(): boolean {
    return this.#isStalled;
  }

  /** Whether a further call would pass now. */
  get mayOpen(): boolean {
    return this.#mayOpen > 0;
  }

  /** Lets so many further calls pass; the octets of the next one are held. */
  allowCalls(count: number): void {
    this.#mayOpen = count;
    if (count > 0) this.#isStalled = false;
  }

  /** From now on each call takes one of these turns. */
  paceBy(turns: CallTurns): void {
    this.#turns = turns;
    this.#hasTurn = false;
  }

  /** When the turn of the call that waits is, in milliseconds from now. After it, `giveTurn`. */
  bookTurn(): number {
    return this.#turns?.book() ?? 0;
  }

  /** The booked turn has come. */
  giveTurn(): void {
    this.#hasTurn = true;
  }

  /** The server sent SETTINGS; the size of the header table counts once the client acknowledges it. */
  serverAnnounced(settings: ServerSettings): void {
    this.#unacknowledged.push(settings);
    this.#maxFrameBytes = Math.max(this.#maxFrameBytes, settings.maxFrameBytes ?? 0);
  }

  protected override get isWaiting(): boolean {
    return this.#isStalled;
  }

  protected override begin(bytes: Buffer): number | undefined {
    if (this.#hasPreface) return 0;
    const length = Math.min(bytes.length, PREFACE.length);
    if (PREFACE.compare(bytes, 0, length, 0, length) !== 0) throw malformed('it does not begin as HTTP/2 does');
    this.#hasPreface = length === PREFACE.length;
    if (this.#hasPreface) return PREFACE.length;
    this.hold(bytes, bytes.length + 1);
    return undefined;
  }

  protected override passed(bytes: Buffer, from: number, to: number, isLast: boolean, now: number): void {
    const data = this.#data;
    if (data === undefined) return;
    const { start, end } = data.pass(from, to);
    const further = this.#calls.content(data.stream, bytes, start, end);
    for (let message = 0; message < further; message++) this.#guard.count('messages');
    if (isLast) this.#data = undefined;
    if (!isLast || !data.endsStream) {
      if (end > start) this.#calls.received(data.stream, end - start);
    } else if (this.#calls.requested(data.stream, now)) this.#guard.callCompleted();
  }

  /** How many octets of a frame must be there before it is looked at. */
  protected override need(head: FrameHead, now: number): number {
    if (head.length > this.#maxFrameBytes) throw malformed(`a frame of ${head.length} bytes`);
    if (head.type === FRAME.HEADERS) this.#blockSince ??= now;
    if (!isStreamed(head)) return HEAD_BYTES + head.length;
    return HEAD_BYTES + ((head.flags & FLAG.PADDED) !== 0 ? Math.min(1, head.length) : 0);
  }

  /** Whether a frame opens a call that is not allowed yet. Its time has not begun then. */
  protected override mustWait(head: FrameHead): boolean {
    if (head.type !== FRAME.HEADERS || !this.#calls.opens(head.stream)) return false;
    if (this.#mayOpen > 0 && this.#takeTurn()) return false;
    this.#isStalled = true;
    this.#blockSince = undefined;
    return true;
  }

  #takeTurn(): boolean {
    const had = this.#hasTurn;
    this.#hasTurn = false;
    return had || this.#turns === undefined || this.#turns.take();
  }

  protected override last(): readonly Buffer[] {
    return this.#run.release();
  }

  /** Looks at the frame at `at` (a streamed one: its head); returns the bytes that pass in its place if it does not itself. */
  protected override frame(head: FrameHead, bytes: Buffer, at: number, now: number): readonly Buffer[] | undefined {
    const isGathered = this.#isGathered(head);
    const isInOrder = this.#isInOrder(head);
    const instead = this.#look(head, bytes, at, now);
    if (isGathered) return this.#run.add(head.stream, bytes.subarray(at + HEAD_BYTES, at + HEAD_BYTES + head.length));
    if (this.#run.isEmpty || !isInOrder) return instead;
    const size = this.isStreaming ? HEAD_BYTES : HEAD_BYTES + head.length;
    return [...this.#run.release(), ...(instead ?? [bytes.subarray(at, at + size)])];
  }

  /** Padding takes up windows, so it cannot be taken out; the end of a request passes as it is. */
  #isGathered(head: FrameHead): boolean {
    const isPlain = (head.flags & (FLAG.PADDED | FLAG.END_STREAM)) === 0;
    return isPlain && head.length > 0 && !isStreamed(head) && head.type === FRAME.DATA && this.#calls.has(head.stream);
  }

  /** Whether it passes after the DATA before it. Other frames pass before: as one of no call, it would keep DATA from being gathered. */
  #isInOrder({ type, stream, length }: FrameHead): boolean {
    if (type === FRAME.DATA) return length >= WORTH_BYTES || this.#calls.has(stream);
    return type === FRAME.HEADERS || type === FRAME.RST_STREAM;
  }

  #look(head: FrameHead, bytes: Buffer, at: number, now: number): readonly Buffer[] | undefined {
    this.#guard.count('frames');
    if (!this.#hasSettings && (head.type !== FRAME.SETTINGS || (head.flags & FLAG.ACK) !== 0)) {
      throw malformed('its first frame is not SETTINGS');
    }
    if (this.#blocks.isOpen && head.type !== FRAME.CONTINUATION) throw malformed('a frame inside a header block');
    switch (head.type) {
      case FRAME.DATA:
        this.#dataFrame(head, bytes, at + HEAD_BYTES, now);
        return undefined;
      case FRAME.HEADERS:
      case FRAME.CONTINUATION:
        return this.#headers(head, bytes.subarray(at, at + HEAD_BYTES + head.length), now);
      case FRAME.SETTINGS:
        this.#guard.count('settings');
        this.#settings(head, bytes.subarray(at + HEAD_BYTES, at + HEAD_BYTES + head.length), now);
        return undefined;
      case FRAME.PING:
        this.#guard.count('pings');
        return undefined;
      case FRAME.PRIORITY:
        this.#guard.count('priorities');
        return undefined;
      case FRAME.RST_STREAM:
        this.#guard.count('resets');
        this.#calls.reset(head.stream, now);
        return undefined;
      case FRAME.WINDOW_UPDATE:
        this.#guard.count('windowUpdates');
        if (head.length === 4) this.#calls.granted(head.stream, bytes.readUInt32BE(at + HEAD_BYTES) & 0x7fff_ffff);
        return undefined;
      case FRAME.PUSH_PROMISE:
        throw malformed('PUSH_PROMISE from a client');
      case FRAME.GOAWAY:
        this.#guard.strayPayload(head.length);
        return undefined;
      default:
        // The server would skip it; so it is not even shown to it.
        this.stream(head.length, true);
        this.#guard.strayPayload(head.length);
        return [];
    }
  }

  #headers(head: FrameHead, frame: Buffer, now: number): readonly Buffer[] | undefined {
    if (head.length === 0) this.#guard.count('emptyFrames');
    const opensCall = head.type === FRAME.HEADERS && this.#calls.opens(head.stream);
    // Decoding a full block takes half a millisecond, and only those that open calls take turns.
    if (head.type === FRAME.HEADERS && !opensCall && !this.#calls.trailers(head.stream))
      this.#guard.count('strayBlocks');
    const block = this.#blocks.take(head, frame, opensCall);
    if (block === undefined) return [];
    this.#blockSince = undefined;
    if (block.opensCall) {
      this.#calls.open(block.stream, now);
      this.#mayOpen--;
    }
    if (block.endsStream && this.#calls.requested(block.stream, now)) this.#guard.callCompleted();
    return block.frames.length === 1 && block.frames[0] === frame ? undefined : block.frames;
  }

  #settings(head: FrameHead, payload: Buffer, now: number): void {
    this.#hasSettings = true;
    if ((head.flags & FLAG.ACK) !== 0) {
      const bytes = this.#unacknowledged.shift()?.headerTableBytes;
      if (bytes !== undefined) this.#blocks.limitTable(bytes);
      return;
    }
    // Only the last value counts: a frame has room for thousands, and each would be applied to all calls.
    const window = new Map(readSettings(payload)).get(SETTING.INITIAL_WINDOW_SIZE);
    if (window !== undefined) this.#calls.beginWith(window, now);
  }

  /** A small DATA frame, or the head of a large one, whose payload passes as it comes. */
  #dataFrame(head: FrameHead, bytes: Buffer, payload: number, now: number): void {
    if (!this.#calls.has(head.stream)) this.#guard.strayPayload(head.length);
    if (isStreamed(head)) this.stream(head.length);
    this.#data = new PassingData(head, bytes[payload] ?? 0);
    const { contentBytes, endsStream } = this.#data;
    const isPadded = (head.flags & FLAG.PADDED) !== 0;
    if (isPadded || (contentBytes <= 0 && !endsStream)) this.#guard.count('emptyFrames');
    if (contentBytes > 0 && this.#calls.isAsked(head.stream)) this.#guard.dataReceived(contentBytes);
    if (!isStreamed(head)) this.passed(bytes, payload, payload + head.length, true, now);
  }
}

/** Whether a frame passes without being held, or is left out: DATA that is large, and types that the server ignores. */
function isStreamed({ type, length }: FrameHead): boolean {
  return type > FRAME.CONTINUATION || (type === FRAME.DATA && length >= WORTH_BYTES);
}
