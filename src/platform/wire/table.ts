// How a message is described: a table of fields, from which the types of its values follow.
import type { Reader } from './reader.js';
import type { Writer } from './writer.js';

/**
 * The kinds of single values. `int64` and `uint64` are numbers, and a value that a number cannot hold exactly is refused;
 * `bigint` is an int64 on the wire, for fields that senders fill with the largest number there is. `enum` keeps unknown
 * values.
 */
export type Scalar = 'string' | 'bytes' | 'bool' | 'int32' | 'int64' | 'bigint' | 'uint32' | 'uint64' | 'enum';

/** The element of a field: a scalar or another message. */
export type Element = Scalar | MessageType<Fields>;

/**
 * One field: its number and its element. A plain message field, and an `optional` scalar, is undefined when absent; a plain
 * scalar is its zero. The keys of a `map` are text.
 */
export type Field =
  | readonly [number: number, element: Element]
  | readonly [number: number, label: 'optional' | 'repeated' | 'map', element: Element];

/** The fields of a message by the names that TypeScript code uses for them. */
export type Fields = Readonly<Record<string, Field>>;

/** The value of one element. */
type ValueOf<E> = E extends 'string'
  ? string
  : E extends 'bytes'
    ? Buffer
    : E extends 'bool'
      ? boolean
      : E extends 'bigint'
        ? bigint
        : E extends Scalar
          ? number
          : E extends MessageType<infer F>
            ? Decoded<F>
            : never;

/** The value of one field after decoding. */
type FieldValue<F> = F extends readonly [number, 'repeated', infer E]
  ? readonly ValueOf<E>[]
  : F extends readonly [number, 'map', infer E]
    ? ReadonlyMap<string, ValueOf<E>>
    : F extends readonly [number, 'optional', infer E]
      ? ValueOf<E> | undefined
      : F extends readonly [number, infer E]
        ? E extends Scalar
          ? ValueOf<E>
          : ValueOf<E> | undefined
        : never;

/** The result of decoding: every field is there. */
export type Decoded<F extends Fields> = { readonly [K in keyof F]: FieldValue<F[K]> };

/** The input of an element; a nested message may leave out fields too. */
type GivenElement<E> = E extends MessageType<infer F> ? Given<F> : E extends 'bytes' ? Uint8Array : ValueOf<E>;

/** The input of a field. */
type GivenField<F> = F extends readonly [number, 'repeated', infer E]
  ? readonly GivenElement<E>[]
  : F extends readonly [number, 'map', infer E]
    ? ReadonlyMap<string, GivenElement<E>>
    : F extends readonly [number, 'optional', infer E]
      ? GivenElement<E>
      : F extends readonly [number, infer E]
        ? GivenElement<E>
        : never;

/** The input of encoding: a field that is left out, or undefined, is not sent. */
export type Given<F extends Fields> = { readonly [K in keyof F]?: GivenField<F[K]> | undefined };

/** A message: its table, and its way to and from bytes. */
export interface MessageType<F extends Fields> {
  /** Package and name, as in the .proto file. */
  readonly name: string;
  readonly fields: F;
  /** @throws WireError when a value cannot be carried by its field */
  encode(value: Given<F>): Buffer;
  /**
   * @param most fields and packed numbers that are read at all levels together, those that are not known or come again too; for
   *   bytes of somebody who is not trusted, because a field of two bytes costs a hundred times its length
   * @throws WireError when the bytes are no such message
   */
  decode(bytes: Uint8Array, most?: number): Decoded<F>;
  /** Writes the fields in front of the bytes in `writer`; for messages inside messages. */
  write(writer: Writer, value: Given<F>): void;
  /** Reads up to the end that `reader` has; fields of `before`, an earlier part of the same message, are kept. */
  read(reader: Reader, before: Decoded<F> | undefined): Decoded<F>;
}

/** The decoded value of a message: `ValueOfMessage<typeof RegisterRequest>`. */
export type Message<M> = M extends MessageType<infer F> ? Decoded<F> : never;
/** The input of a message. */
export type GivenMessage<M> = M extends MessageType<infer F> ? Given<F> : never;
