// The length of a text as JSON: foreign spellings are bounded by it, because a control character that is one byte on the wire
// takes six in a file.

import { cut } from './cut.js';

/** The length of a character that JSON writes as `\u0001`; all that is not plain ASCII is counted so. */
const ESCAPED = 6;
/** A quote or a backslash. */
const MARKED = 2;

function bytesOf(code: number): number {
  if (code < 0x20 || code > 0x7e) return ESCAPED;
  return code === 0x22 || code === 0x5c ? MARKED : 1;
}

/** How many characters of a text take `most` bytes at the most; all of them: its length. */
function fitting(text: string, most: number): number {
  if (text.length * ESCAPED <= most) return text.length;
  let bytes = 0;
  for (let at = 0; at < text.length; at += 1) {
    bytes += bytesOf(text.charCodeAt(at));
    if (bytes > most) return at;
  }
  return text.length;
}

/** Bytes that a text takes inside the quotes of a JSON string at the most. */
export function writtenBytes(text: string): number {
  let bytes = 0;
  for (let at = 0; at < text.length; at += 1) bytes += bytesOf(text.charCodeAt(at));
  return bytes;
}

/** Whether a text takes at most so many bytes inside the quotes of a JSON string, however its characters are escaped. */
export function fitsWritten(text: string, most: number): boolean {
  return fitting(text, most) === text.length;
}

/** The beginning of a text that takes at most so many bytes inside the quotes of a JSON string; no character is cut in two. */
export function cutWritten(text: string, most: number): string {
  const length = fitting(text, most);
  if (length === text.length) return text;
  const last = text.charCodeAt(length - 1);
  return cut(text, last >= 0xd800 && last <= 0xdbff ? length - 1 : length);
}
