// The single values of messages: how each kind is framed, written, read, and which value is not sent at all.
import { WIRE, type Reader } from './reader.js';
import type { Scalar } from './table.js';
import { WireError } from './wire-error.js';
import type { Writer } from './writer.js';

const TWO_32 = 4_294_967_296;

/** How one kind of value goes over the wire. `where` names message and field for the error. */
export interface ScalarCodec {
  readonly framing: number;
  /** The meaning of an absent field; not sent. */
  zero(): unknown;
  isZero(value: unknown): boolean;
  write(writer: Writer, value: unknown, where: string): void;
  read(reader: Reader, where: string): unknown;
}

const isNothing = (value: unknown): boolean => value === 0 || value === '' || value === false || value === 0n;

function integer(least: number, most: number, read: (reader: Reader, where: string) => number): ScalarCodec {
  return {
    framing: WIRE.VARINT,
    zero: () => 0,
    isZero: isNothing,
    write: (writer, value, where) => {
      if (!Number.isInteger(value) || (value as number) < least || (value as number) > most) {
        throw new WireError(`${where} must be a whole number from ${least} to ${most}`);
      }
      writer.varint((value as number) >>> 0, Math.floor((value as number) / TWO_32) >>> 0);
    },
    read,
  };
}

/** Longer encodings are cut to their low 32 bits, as every protobuf parser does. */
const int32 = integer(-(2 ** 31), 2 ** 31 - 1, (reader, where) => {
  reader.varint(where);
  return reader.low | 0;
});

/** The codec of each kind. */
export const SCALARS: Readonly<Record<Scalar, ScalarCodec>> = {
  int32,
  enum: int32,
  uint32: integer(0, TWO_32 - 1, (reader, where) => {
    reader.varint(where);
    return reader.low;
  }),
  int64: integer(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, (reader, where) => reader.int64(where)),
  uint64: integer(0, Number.MAX_SAFE_INTEGER, (reader, where) => reader.uint64(where)),
  bigint: {
    framing: WIRE.VARINT,
    zero: () => 0n,
    isZero: isNothing,
    write: (writer, value, where) => {
      if (typeof value !== 'bigint' || BigInt.asIntN(64, value) !== value) {
        throw new WireError(`${where} must be a whole number of 64 bits`);
      }
      writer.varint(Number(BigInt.asUintN(32, value)), Number(BigInt.asUintN(32, value >> 32n)));
    },
    read: (reader, where) => {
      reader.varint(where);
      return BigInt.asIntN(64, (BigInt(reader.high) << 32n) | BigInt(reader.low));
    },
  },
  bool: {
    framing: WIRE.VARINT,
    zero: () => false,
    isZero: isNothing,
    write: (writer, value) => writer.count(value === true ? 1 : 0),
    read: (reader, where) => {
      reader.varint(where);
      return reader.low !== 0 || reader.high !== 0;
    },
  },
  string: {
    framing: WIRE.BYTES,
    zero: () => '',
    isZero: isNothing,
    write: (writer, value, where) => {
      if (typeof value !== 'string') throw new WireError(`${where} must be text`);
      writer.text(value);
    },
    read: (reader, where) => reader.text(where),
  },
  bytes: {
    framing: WIRE.BYTES,
    zero: () => Buffer.alloc(0),
    isZero: (value) => value instanceof Uint8Array && value.length === 0,
    write: (writer, value, where) => {
      if (!(value instanceof Uint8Array)) throw new WireError(`${where} must be bytes`);
      writer.bytes(value);
    },
    read: (reader, where) => reader.bytes(where),
  },
};
