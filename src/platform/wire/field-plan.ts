// How each field of a message is written and read, worked out once from its line in the table.
import { Reader, WIRE } from './reader.js';
import { SCALARS, type ScalarCodec } from './scalar.js';
import type { Decoded, Element, Field, Fields } from './table.js';
import { WireError } from './wire-error.js';
import type { Writer } from './writer.js';

/** One field, ready for work. */
export interface FieldPlan {
  readonly key: string;
  readonly number: number;
  /** The value of the field when it was not sent. */
  absent(): unknown;
  write(writer: Writer, value: unknown): void;
  /** Whether a value framed like this is one of the field; others are skipped like unknown fields. */
  accepts(framing: number): boolean;
  /** Reads one occurrence and returns the new value of the field. */
  read(reader: Reader, framing: number, before: unknown): unknown;
}

/** Prepares one field of the message `owner`. */
export function planField(owner: string, key: string, field: Field): FieldPlan {
  const number = field[0];
  const where = `${owner}.${key}`;
  const label = field.length === 3 ? field[1] : 'plain';
  const codec = elementCodec(field.length === 3 ? field[2] : field[1], where);
  if (label === 'map') return mapPlan(key, number, codec, where);
  if (label === 'repeated') return repeatedPlan(key, number, codec, where);
  const zeroIsSent = label === 'optional' || codec.isMessage;
  return {
    key,
    number,
    absent: () => (zeroIsSent ? undefined : codec.zero()),
    write: (writer, value) => {
      if (zeroIsSent || !codec.isZero(value)) writeTagged(writer, number, codec, value, where);
    },
    accepts: (framing) => framing === codec.framing,
    read: (reader, _framing, before) => codec.read(reader, where, before),
  };
}

function repeatedPlan(key: string, number: number, codec: ElementCodec, where: string): FieldPlan {
  const isPacked = codec.framing === WIRE.VARINT;
  return {
    key,
    number,
    absent: () => [],
    write: (writer, value) => {
      const items = value as readonly unknown[];
      if (items.length === 0) return;
      const after = writer.length;
      for (let index = items.length - 1; index >= 0; index--) {
        if (isPacked) codec.write(writer, items[index], where);
        else writeTagged(writer, number, codec, items[index], where);
      }
      if (!isPacked) return;
      writer.count(writer.length - after);
      writer.tag(number, WIRE.BYTES);
    },
    accepts: (framing) => framing === codec.framing || (isPacked && framing === WIRE.BYTES),
    read: (reader, framing, before) => {
      const items = before as unknown[];
      const take = (): void => void items.push(codec.read(reader, where, undefined));
      if (!isPacked || framing === WIRE.VARINT) take();
      else
        within(reader, where, () => {
          while (reader.pos < reader.end) {
            reader.value(where);
            take();
          }
        });
      return items;
    },
  };
}

function mapPlan(key: string, number: number, codec: ElementCodec, where: string): FieldPlan {
  return {
    key,
    number,
    absent: () => new Map<string, unknown>(),
    write: (writer, value) => {
      for (const [name, held] of [...(value as ReadonlyMap<string, unknown>)].reverse()) {
        const after = writer.length;
        writeTagged(writer, 2, codec, held, where);
        writeTagged(writer, 1, TEXT, name, where);
        writer.count(writer.length - after);
        writer.tag(number, WIRE.BYTES);
      }
    },
    accepts: (framing) => framing === WIRE.BYTES,
    read: (reader, _framing, before) => {
      let name = '';
      let held: unknown;
      within(reader, where, () => {
        while (reader.pos < reader.end) {
          reader.value(where);
          const tag = reader.tag(where);
          if (tag === ((1 << 3) | WIRE.BYTES)) name = reader.text(where);
          else if (tag === ((2 << 3) | codec.framing)) held = codec.read(reader, where, held);
          else reader.skip(tag, where);
        }
      });
      return (before as Map<string, unknown>).set(name, held ?? codec.zero());
    },
  };
}

/** A scalar, or a message framed by its length; `before` is an earlier part of the same message. */
interface ElementCodec extends Omit<ScalarCodec, 'read'> {
  readonly isMessage: boolean;
  read(reader: Reader, where: string, before: unknown): unknown;
}

const TEXT: ElementCodec = { ...SCALARS.string, isMessage: false };

function elementCodec(element: Element, where: string): ElementCodec {
  if (typeof element === 'string') return { ...SCALARS[element], isMessage: false };
  return {
    isMessage: true,
    framing: WIRE.BYTES,
    zero: () => element.read(new Reader(Buffer.alloc(0)), undefined),
    isZero: () => false,
    write: (writer, value) => {
      if (typeof value !== 'object' || value === null) throw new WireError(`${where} must be a message`);
      const after = writer.length;
      element.write(writer, value);
      writer.count(writer.length - after);
    },
    read: (reader, _where, before) =>
      within(reader, where, () => element.read(reader, before as Decoded<Fields> | undefined)),
  };
}

function writeTagged(writer: Writer, number: number, codec: ElementCodec, value: unknown, where: string): void {
  codec.write(writer, value, where);
  writer.tag(number, codec.framing);
}

/** Narrows the reader to the length-delimited value that comes next. */
function within<T>(reader: Reader, where: string, work: () => T): T {
  const end = reader.lengthEnd(where);
  const outer = reader.end;
  reader.end = end;
  const result = work();
  reader.end = outer;
  return result;
}
