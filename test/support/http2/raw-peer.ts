import net from 'node:net';
import { encodeFrame, encodeHeaders, FLAG, FRAME, PREFACE, readHead } from '../../../src/platform/http2/frames.js';
import { eventually } from '../eventually.js';
import { indexed, literal } from './hpack-writer.js';

/** A frame as it came from the server. */
export interface SeenFrame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

/** The header block of a gRPC request, without a table; `authority` undefined leaves it away. */
export function requestBlock(authority: string | undefined, path = '/t.Echo/Unary'): Buffer {
  return Buffer.concat([
    indexed(3),
    indexed(6),
    literal(':path', path),
    ...(authority === undefined ? [] : [literal(':authority', authority)]),
    literal('content-type', 'application/grpc'),
    literal('te', 'trailers'),
  ]);
}

/** A gRPC message. */
export function message(payload: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(payload.length, 1);
  return Buffer.concat([head, payload]);
}

/** HEADERS and DATA of a whole request. */
export function request(stream: number, block: Buffer, payload: Buffer = Buffer.from('ping')): Buffer {
  return Buffer.concat([
    ...encodeHeaders(0, stream, block),
    encodeFrame(FRAME.DATA, FLAG.END_STREAM, stream, message(payload)),
  ]);
}

/** An entry list of a SETTINGS frame. */
export function settings(...entries: readonly (readonly [id: number, value: number])[]): Buffer {
  const payload = Buffer.alloc(6 * entries.length);
  for (const [at, [id, value]] of entries.entries()) {
    payload.writeUInt16BE(id, 6 * at);
    payload.writeUInt32BE(value, 6 * at + 2);
  }
  return encodeFrame(FRAME.SETTINGS, 0, 0, payload);
}

/** A payload of one 32 bit number. */
export function number32(value: number): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(value);
  return payload;
}

/** A peer that writes whatever octets it is told, and keeps what comes back. */
export class RawPeer {
  readonly socket: net.Socket;
  readonly frames: SeenFrame[] = [];
  isClosed = false;
  #rest: Buffer = Buffer.alloc(0);

  constructor(path: string) {
    this.socket = net.connect(path);
    this.socket.on('error', () => undefined);
    this.socket.on('close', () => {
      this.isClosed = true;
    });
    this.socket.on('data', (chunk) => this.#take(chunk));
  }

  /** Says preface and SETTINGS; acknowledges those of the server, unless it closes first. */
  static async greeted(path: string, ...entries: readonly (readonly [id: number, value: number])[]): Promise<RawPeer> {
    const peer = new RawPeer(path);
    peer.write(PREFACE, settings(...entries));
    await eventually(
      'SETTINGS of the server',
      () => peer.isClosed || peer.frames.some(({ type, flags }) => type === FRAME.SETTINGS && (flags & FLAG.ACK) === 0),
    );
    peer.write(encodeFrame(FRAME.SETTINGS, FLAG.ACK, 0, Buffer.alloc(0)));
    return peer;
  }

  write(...parts: readonly Buffer[]): void {
    this.socket.write(Buffer.concat(parts));
  }

  /** Waits for a frame that satisfies a condition. */
  waitFor(what: string, isIt: (frame: SeenFrame) => boolean): Promise<SeenFrame> {
    return eventually(what, () => this.frames.find(isIt));
  }

  /** Waits for the end of a call: what came of DATA, or the code of its RST_STREAM. */
  async answer(stream: number): Promise<string> {
    const end = await this.waitFor(
      `the end of call ${stream}`,
      (frame) =>
        frame.stream === stream &&
        (frame.type === FRAME.RST_STREAM ||
          ((frame.type === FRAME.HEADERS || frame.type === FRAME.DATA) && (frame.flags & FLAG.END_STREAM) !== 0)),
    );
    if (end.type === FRAME.RST_STREAM) return `reset ${end.payload.readUInt32BE(0)}`;
    const data = this.frames.filter((frame) => frame.stream === stream && frame.type === FRAME.DATA);
    return Buffer.concat(data.map(({ payload }) => payload)).toString('latin1', 5);
  }

  /** Waits until what was written has left, or never will. */
  drained(): Promise<void> {
    return new Promise((resolve) => {
      if (this.isClosed) resolve();
      this.socket.once('drain', resolve).once('close', resolve);
    });
  }

  /** Waits until the other side has closed. */
  closed(): Promise<true> {
    return eventually('the connection is closed', () => this.isClosed || undefined);
  }

  destroy(): void {
    this.socket.destroy();
  }

  #take(chunk: Buffer): void {
    let bytes = Buffer.concat([this.#rest, chunk]);
    while (bytes.length >= 9) {
      const { length, type, flags, stream } = readHead(bytes, 0);
      if (bytes.length < 9 + length) break;
      this.frames.push({ type, flags, stream, payload: bytes.subarray(9, 9 + length) });
      bytes = bytes.subarray(9 + length);
    }
    this.#rest = bytes;
  }
}
