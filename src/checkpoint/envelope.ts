// The first line and the last of a checkpoint: its format number and a checksum over the bytes. All formats share them, so that
// damage is told from a newer format without understanding the lines between.
import { createHash } from 'node:crypto';

const HEAD = '{"format":';
const SEAL = '"sha256":"';
const END = '"}\n';
const HEX_CHARS = 64;
/** Bytes from the first character of the checksum to the end of the file. */
export const SEAL_BYTES = HEX_CHARS + END.length;

/** The envelope of some bytes. */
export type Opened =
  { readonly kind: 'sealed'; readonly format: number } | { readonly kind: 'damaged'; readonly problem: string };

/**
 * Puts the members of a JSON object between format number and checksum; the result is one JSON object.
 *
 * @param members text of the members in any number of pieces, each member ended by a comma and a line feed
 * @param hashOf SHA-256 in hexadecimal; PrefixHash.of (prefix-hash) where generations follow each other
 */
export function seal(
  format: number,
  members: readonly Uint8Array[],
  hashOf: (bytes: Buffer) => string = sha256,
): Buffer {
  const pieces = [headOf(format), ...members, Buffer.from(SEAL)];
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const bytes = Buffer.allocUnsafeSlow(length + SEAL_BYTES);
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  bytes.write(hashOf(bytes.subarray(0, length)) + END, length, 'latin1');
  return bytes;
}

/** The bytes before the members. */
export function headOf(format: number): Buffer {
  return Buffer.from(`${HEAD}${String(format)},\n`);
}

/**
 * Checks the envelope. Every changed, missing or added byte is noticed, also in the checksum itself: the hash covers
 * all before it, and the rest is compared letter by letter.
 */
export function unseal(bytes: Buffer): Opened {
  if (bytes.length === 0) return damaged('it is empty');
  const head = bytes.toString('latin1', 0, HEAD.length + 12);
  const format = /^\{"format":([1-9][0-9]{0,8}),\n/.exec(head)?.[1];
  if (format === undefined) return damaged('it does not begin with the format number of a checkpoint');
  const split = bytes.length - SEAL_BYTES;
  if (split < 0 || bytes.toString('latin1', split - SEAL.length, split) !== SEAL || !endsWell(bytes)) {
    return damaged(`it does not end with a checksum: it was cut off or added to, ${bytes.length} bytes are there`);
  }
  const claimed = bytes.toString('latin1', split, split + HEX_CHARS);
  if (claimed !== sha256(bytes.subarray(0, split)))
    return damaged('its checksum does not fit its bytes: something changed them');
  return { kind: 'sealed', format: Number(format) };
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function endsWell(bytes: Buffer): boolean {
  return bytes.toString('latin1', bytes.length - END.length) === END;
}

function damaged(problem: string): Opened {
  return { kind: 'damaged', problem };
}
