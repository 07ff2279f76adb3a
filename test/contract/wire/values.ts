import fc from 'fast-check';
import protobuf from 'protobufjs';
import type { Decoded, Element, Fields, MessageType, Scalar } from '../../../src/platform/wire/table.js';

/** Text as plugins may send it, names that are traps in JavaScript among them. */
const text = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('constructor', 'toString', 'hasOwnProperty', 'prototype', '\ufffd', '\u0000', 'é'.repeat(70)),
);

const SCALARS: Readonly<Record<Scalar, fc.Arbitrary<unknown>>> = {
  string: text,
  bytes: fc.uint8Array().map((bytes) => Buffer.from(bytes)),
  bool: fc.boolean(),
  int32: fc.integer(),
  enum: fc.integer(),
  uint32: fc.nat(2 ** 32 - 1),
  int64: fc.maxSafeInteger(),
  uint64: fc.maxSafeNat(),
  bigint: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
};

/** The library's 64-bit numbers, of whose type it says too little. */
const LONG = protobuf.util.Long as unknown as { fromString(text: string): unknown };

const valueOf = (element: Element): fc.Arbitrary<unknown> =>
  typeof element === 'string' ? SCALARS[element] : messageValue(element);

/** Complete values of a message, as decoding gives them. */
export function messageValue(table: MessageType<Fields>): fc.Arbitrary<Decoded<Fields>> {
  const fields = Object.entries(table.fields).map(([key, field]) => {
    const element = field.length === 3 ? field[2] : field[1];
    const label = field.length === 3 ? field[1] : 'plain';
    const value = valueOf(element);
    if (label === 'repeated') return [key, fc.array(value, { maxLength: 4 })];
    if (label === 'map') return [key, fc.dictionary(text, value, { maxKeys: 4, noNullPrototype: true }).map(toMap)];
    return [key, label === 'plain' && typeof element === 'string' ? value : fc.option(value, { nil: undefined })];
  });
  const record = Object.fromEntries(fields) as Record<string, fc.Arbitrary<unknown>>;
  return fc.record(record, { noNullPrototype: true }) as fc.Arbitrary<Decoded<Fields>>;
}

const toMap = (dictionary: object): Map<string, unknown> => new Map(Object.entries(dictionary));

/** The same value as the protobuf library takes it. */
export function toLibrary(table: MessageType<Fields>, type: protobuf.Type, value: Decoded<Fields>): object {
  const entries = Object.entries(table.fields).flatMap(([key, [number, ...rest]]) => {
    const field = type.fieldsById[number];
    const element = rest.at(-1) as Element;
    if (field === undefined || value[key] === undefined) return [];
    const one = (item: unknown): unknown =>
      typeof element === 'string'
        ? typeof item === 'bigint'
          ? LONG.fromString(String(item))
          : item
        : toLibrary(element, field.resolvedType as protobuf.Type, item as Decoded<Fields>);
    const held: unknown = value[key];
    if (held instanceof Map) return [[field.name, Object.fromEntries([...held].map(([k, v]) => [k, one(v)]))]];
    return [[field.name, Array.isArray(held) ? held.map(one) : one(held)]];
  });
  return Object.fromEntries(entries) as object;
}

/** A message that the protobuf library decoded, as our decoder gives it. */
export function fromLibrary(table: MessageType<Fields>, type: protobuf.Type, message: object): Decoded<Fields> {
  const given = message as Record<string, unknown>;
  const entries = Object.entries(table.fields).map(([key, [number, ...rest]]) => {
    const field = type.fieldsById[number];
    const element = rest.at(-1) as Element;
    if (field === undefined) return [key, undefined];
    const one = (item: unknown): unknown => {
      if (typeof element !== 'string') return fromLibrary(element, field.resolvedType as protobuf.Type, item as object);
      if (element === 'bigint') return BigInt(String(item));
      return element === 'int64' || element === 'uint64' ? Number(item) : item;
    };
    const held = given[field.name];
    if (rest[0] === 'map') return [key, new Map(Object.entries(held as object).map(([k, v]) => [k, one(v)]))];
    if (rest[0] === 'repeated') return [key, (held as unknown[]).map(one)];
    const isAbsent = typeof element !== 'string' || rest[0] === 'optional' ? !Object.hasOwn(given, field.name) : false;
    return [key, isAbsent ? undefined : one(held)];
  });
  return Object.fromEntries(entries) as Decoded<Fields>;
}
