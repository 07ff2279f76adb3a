import { headOf, seal, SEAL_BYTES } from '../../src/checkpoint/envelope.js';
import { FORMAT } from '../../src/checkpoint/format.js';

/** Makes a whole checkpoint of the next format, with the same members, of the bytes of one of this format. */
export function inNewerFormat(bytes: Buffer): Buffer {
  const members = bytes.subarray(headOf(FORMAT).length, bytes.length - SEAL_BYTES - '"sha256":"'.length);
  return seal(FORMAT + 1, [members]);
}
