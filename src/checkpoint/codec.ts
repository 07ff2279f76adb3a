// The checkpoint as bytes, both ways.
import { decodeCheckpoint } from './decode.js';
import { CheckpointEncoder } from './encode.js';
import type { CheckpointDocument } from './document.js';

/** Writes documents, and reads bytes that may be of anybody's making. */
export function checkpointCodec(): {
  encode(document: CheckpointDocument, most?: number): ReturnType<CheckpointEncoder['encode']>;
  decode(bytes: Buffer): ReturnType<typeof decodeCheckpoint>;
} {
  const encoder = new CheckpointEncoder();
  return {
    encode: (document, most) => encoder.encode(document, most),
    decode: (bytes) => decodeCheckpoint(bytes, undefined, undefined, (leases, lines) => encoder.keep(leases, lines)),
  };
}
