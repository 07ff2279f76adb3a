// A small protobuf codec driven by tables. It stands in the place of a protobuf library because the daemon must not load
// .proto files before it answers, and because text must be refused, not repaired, when it is not UTF-8.
import { planField } from './field-plan.js';
import { Reader } from './reader.js';
import type { Decoded, Fields, Given, MessageType } from './table.js';
import { Writer } from './writer.js';

/**
 * Builds a message from its table.
 *
 * Decoding follows the proto3 rules: unknown fields are skipped, the last of several values counts, parts of one message
 * are merged, packed and unpacked numbers are both accepted. Nesting is as deep as the tables, so it is bounded.
 *
 * @param name package and name as in the .proto file; stands in errors
 */
export function message<const F extends Fields>(name: string, fields: F): MessageType<F> {
  const make = () => {
    const plans = Object.entries(fields).map(([key, field]) => planField(name, key, field));
    return { plans, reversed: plans.toReversed(), byNumber: new Map(plans.map((plan) => [plan.number, plan])) };
  };
  // Made with the first message: most messages come after the start, and some never.
  let made: ReturnType<typeof make> | undefined;

  const write = (writer: Writer, value: Given<F>): void => {
    made ??= make();
    for (const plan of made.reversed) {
      const given = value[plan.key];
      if (given !== undefined) plan.write(writer, given);
    }
  };
  const read = (reader: Reader, before: Decoded<F> | undefined): Decoded<F> => {
    const { plans, byNumber } = (made ??= make());
    const target: Record<string, unknown> = { ...before };
    if (before === undefined) for (const plan of plans) target[plan.key] = plan.absent();
    while (reader.pos < reader.end) {
      reader.value(name);
      const tag = reader.tag(name);
      const plan = byNumber.get(tag >>> 3);
      if (plan === undefined || !plan.accepts(tag & 7)) reader.skip(tag, name);
      else target[plan.key] = plan.read(reader, tag & 7, target[plan.key]);
    }
    return target as Decoded<F>;
  };
  return {
    name,
    fields,
    write,
    read,
    encode: (value) => {
      const writer = new Writer();
      write(writer, value);
      return writer.finish();
    },
    decode: (bytes, most = Infinity) => {
      const reader = new Reader(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
      reader.valuesLeft = most;
      return read(reader, undefined);
    },
  };
}
