import { HEAD_BYTES, readHead, type FrameHead } from '../../../src/platform/http2/frames.js';

/** A frame with its payload. */
export interface ListedFrame extends FrameHead {
  readonly payload: Buffer;
}

/** The frames in octets that begin and end with one. */
export function framesOf(bytes: Buffer): ListedFrame[] {
  const frames: ListedFrame[] = [];
  for (let at = 0; at < bytes.length;) {
    const head = readHead(bytes, at);
    frames.push({ ...head, payload: bytes.subarray(at + HEAD_BYTES, at + HEAD_BYTES + head.length) });
    at += HEAD_BYTES + head.length;
  }
  return frames;
}
