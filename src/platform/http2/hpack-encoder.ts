// Encodes towards the server without a dynamic table: static entries, and literals that no table remembers. So the server's table
// stays empty and cannot fall out of step with any client's encoder.
import { STATIC_FIELDS, type HeaderField } from './hpack-field.js';

/** The lowest static index of each name, and of each name with its value. */
const INDEX_BY_NAME: ReadonlyMap<string, number> = new Map(
  STATIC_FIELDS.map((field, at) => [field.name, at + 1] as const).reverse(),
);
const INDEX_BY_FIELD: ReadonlyMap<string, number> = new Map(
  STATIC_FIELDS.map((field, at) => [`${field.name}=${field.value}`, at + 1] as const),
);
/** A dynamic table size update to zero (RFC 7541 6.3): the server forgets what it had learned. */
export const FORGET_TABLE: Buffer = Buffer.from([0x20]);

/** The form of a field towards the server; kept with the field. */
export function encodeField(field: HeaderField): Buffer {
  field.wire ??= encode(field);
  return field.wire;
}

function encode(field: HeaderField): Buffer {
  if (!field.sensitive) {
    const known = INDEX_BY_FIELD.get(`${field.name}=${field.value}`);
    if (known !== undefined) return Buffer.from([0x80 | known]);
  }
  const named = INDEX_BY_NAME.get(field.name) ?? 0;
  const octets: number[] = [];
  pushInteger(octets, field.sensitive ? 0x10 : 0x00, 4, named);
  const parts: Buffer[] = [];
  if (named === 0) parts.push(...encodeString(field.name));
  return Buffer.concat([Buffer.from(octets), ...parts, ...encodeString(field.value)]);
}

function encodeString(text: string): Buffer[] {
  const octets: number[] = [];
  pushInteger(octets, 0x00, 7, text.length);
  return [Buffer.from(octets), Buffer.from(text, 'latin1')];
}

/** Appends an integer with a prefix of some bits (RFC 7541 5.1); `pattern` fills the bits before it. */
export function pushInteger(octets: number[], pattern: number, prefixBits: number, value: number): void {
  const full = (1 << prefixBits) - 1;
  if (value < full) {
    octets.push(pattern | value);
    return;
  }
  octets.push(pattern | full);
  let rest = value - full;
  for (; rest >= 0x80; rest >>>= 7) octets.push((rest & 0x7f) | 0x80);
  octets.push(rest);
}
