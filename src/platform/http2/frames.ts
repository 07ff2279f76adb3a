// The frames of RFC 9113, as far as the border looks at them.

/** Frame types (RFC 9113 6). */
export const FRAME = {
  DATA: 0,
  HEADERS: 1,
  PRIORITY: 2,
  RST_STREAM: 3,
  SETTINGS: 4,
  PUSH_PROMISE: 5,
  PING: 6,
  GOAWAY: 7,
  WINDOW_UPDATE: 8,
  CONTINUATION: 9,
} as const;

/** Frame flags; which frames have them says RFC 9113 6. */
export const FLAG = { END_STREAM: 0x01, ACK: 0x01, END_HEADERS: 0x04, PADDED: 0x08, PRIORITY: 0x20 } as const;

/** The settings the border must know (RFC 9113 6.5.2). */
export const SETTING = {
  HEADER_TABLE_SIZE: 1,
  MAX_CONCURRENT_STREAMS: 3,
  INITIAL_WINDOW_SIZE: 4,
  MAX_FRAME_SIZE: 5,
} as const;

/** Error codes of GOAWAY and RST_STREAM (RFC 9113 7). */
export const ERROR = { NO_ERROR: 0, PROTOCOL_ERROR: 1, INTERNAL_ERROR: 2, ENHANCE_YOUR_CALM: 11 } as const;

/** Octets of a frame's head. */
export const HEAD_BYTES = 9;
/** The largest payload that every receiver takes (RFC 9113 4.2). */
export const SAFE_FRAME_BYTES = 16_384;
/** SETTINGS_INITIAL_WINDOW_SIZE before any SETTINGS, and the window of the connection (RFC 9113 6.9.2). */
export const DEFAULT_WINDOW = 65_535;
/** The stream id of a GOAWAY that lets every call in flight finish (RFC 9113 6.8). */
export const LAST_STREAM = 2 ** 31 - 1;
/** The first bytes of a client (RFC 9113 3.4). */
export const PREFACE: Buffer = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');

/** The head of a frame (RFC 9113 4.1). */
export interface FrameHead {
  /** Octets of payload. */
  readonly length: number;
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
}

/** Reads the head of a frame; the buffer must hold nine octets from `at`. */
export function readHead(bytes: Buffer, at: number): FrameHead {
  return {
    length: bytes.readUIntBE(at, 3),
    type: bytes[at + 3] ?? 0,
    flags: bytes[at + 4] ?? 0,
    stream: bytes.readUInt32BE(at + 5) & LAST_STREAM,
  };
}

/** The head of a frame, before room for so many octets more. */
export function encodeHead({ length, type, flags, stream }: FrameHead, room = 0): Buffer {
  const frame = Buffer.allocUnsafe(HEAD_BYTES + room);
  frame.writeUIntBE(length, 0, 3);
  frame[3] = type;
  frame[4] = flags;
  frame.writeUInt32BE(stream, 5);
  return frame;
}

/** A whole frame. */
export function encodeFrame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const { length } = payload;
  const frame = encodeHead({ length, type, flags, stream }, length);
  payload.copy(frame, HEAD_BYTES);
  return frame;
}

/**
 * A header block as HEADERS and as many CONTINUATION frames as it needs.
 *
 * @param flags of the HEADERS frame, END_HEADERS apart
 */
export function encodeHeaders(flags: number, stream: number, block: Buffer): Buffer[] {
  const frames: Buffer[] = [];
  let at = 0;
  do {
    const part = block.subarray(at, at + SAFE_FRAME_BYTES);
    at += SAFE_FRAME_BYTES;
    const end = at >= block.length ? FLAG.END_HEADERS : 0;
    frames.push(
      frames.length === 0
        ? encodeFrame(FRAME.HEADERS, flags | end, stream, part)
        : encodeFrame(FRAME.CONTINUATION, end, stream, part),
    );
  } while (at < block.length);
  return frames;
}

/** A GOAWAY frame with a text that gRPC libraries log. */
export function encodeGoaway(lastStream: number, error: number, text: string): Buffer {
  const payload = Buffer.alloc(8 + Buffer.byteLength(text));
  payload.writeUInt32BE(lastStream, 0);
  payload.writeUInt32BE(error, 4);
  payload.write(text, 8);
  return encodeFrame(FRAME.GOAWAY, 0, 0, payload);
}

/** The entries of a SETTINGS payload, in order; an incomplete one at the end is left to the server to refuse. */
export function* readSettings(payload: Buffer): Generator<readonly [id: number, value: number]> {
  for (let at = 0; at + 6 <= payload.length; at += 6) {
    yield [payload.readUInt16BE(at), payload.readUInt32BE(at + 2)];
  }
}
