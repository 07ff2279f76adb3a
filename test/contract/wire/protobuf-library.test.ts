import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type protobuf from 'protobufjs';
import type { Decoded, Fields, MessageType } from '../../../src/platform/wire/table.js';
import { WireError } from '../../../src/platform/wire/wire-error.js';
import { fullName, loadProtos, protoMessages, tableOf } from './protos.js';
import { fromLibrary, messageValue, toLibrary } from './values.js';

const pairs: { name: string; type: protobuf.Type; table: MessageType<Fields> }[] = protoMessages(loadProtos())
  // The library rewrites google.protobuf.Any while it converts.
  .filter((type) => !fullName(type).startsWith('google.'))
  .map((type) => ({ name: fullName(type), type, table: tableOf(fullName(type)) }));

/** A value as it comes back from the library. */
function carried(type: protobuf.Type, table: MessageType<Fields>, value: Decoded<Fields>): Decoded<Fields> {
  return fromLibrary(table, type, type.decode(type.encode(toLibrary(table, type, value)).finish()));
}

describe('the codec and a protobuf library', () => {
  it('read what the codec writes the same', () => {
    for (const { name, type, table } of pairs) {
      fc.assert(
        fc.property(messageValue(table), (value) => {
          const bytes = table.encode(value);
          assert.deepEqual(fromLibrary(table, type, type.decode(bytes)), carried(type, table, value), name);
          assert.deepEqual(table.decode(bytes), value, name);
        }),
        { numRuns: 30 },
      );
    }
  });

  it('read what the library writes the same', () => {
    for (const { name, type, table } of pairs) {
      fc.assert(
        fc.property(messageValue(table), (value) => {
          const bytes = type.encode(toLibrary(table, type, value)).finish();
          assert.deepEqual(table.decode(bytes), carried(type, table, value), name);
        }),
        { numRuns: 30 },
      );
    }
  });

  it('never throw anything but WireError on damaged messages', () => {
    for (const { table } of pairs) {
      fc.assert(
        fc.property(messageValue(table), fc.nat(), fc.nat(255), fc.nat(), (value, at, byte, cut) => {
          const bytes = table.encode(value);
          if (bytes.length > 0) bytes[at % bytes.length] = byte;
          for (const damaged of [bytes, bytes.subarray(0, cut % (bytes.length + 1))]) {
            try {
              table.decode(damaged);
            } catch (problem) {
              assert.ok(problem instanceof WireError, String(problem));
              assert.match(problem.message, /^[a-zA-Z]/);
            }
          }
        }),
        { numRuns: 60 },
      );
    }
  });
});
