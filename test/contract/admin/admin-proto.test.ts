import assert from 'node:assert/strict';
import path from 'node:path';
import { describe, it } from 'node:test';
import { loadSync, type MethodDefinition } from '@grpc/proto-loader';
import fc from 'fast-check';
import * as adminTables from '../../../src/generated/proto/pluginbroker/v1/admin.js';
import * as allocatorTables from '../../../src/generated/proto/pluginbroker/v1/allocator.js';
import type { Decoded, Fields, MessageType } from '../../../src/platform/wire/table.js';
import { buildRoot } from '../../support/dist.js';
import { messageValue } from '../wire/values.js';

type Table = MessageType<Fields>;

const { adminService, ...adminMessages } = adminTables;
const { allocatorService, ...allocatorMessages } = allocatorTables;

/** The .proto library gives null for a message that was not sent, and nothing for an optional field. */
function withoutAbsent(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutAbsent);
  if (value instanceof Map) return withoutAbsent(Object.fromEntries(value));
  if (typeof value !== 'object' || value === null) return value;
  const present = Object.entries(value).filter(([, held]) => held !== null && held !== undefined);
  return Object.fromEntries(present.map(([key, held]) => [key, withoutAbsent(held)]));
}

for (const { name: serviceName, file, ours: ourService, messages } of [
  { name: 'Admin', file: 'admin', ours: adminService, messages: adminMessages },
  { name: 'Allocator', file: 'allocator', ours: allocatorService, messages: allocatorMessages },
] as const)
  describe(`the ${serviceName} API`, () => {
    const FILE = path.join(buildRoot(), `proto/pluginbroker/v1/${file}.proto`);
    const service = loadSync(FILE, { longs: Number, defaults: true, arrays: true, objects: true })[
      `pluginbroker.v1.${serviceName}`
    ] as Readonly<Record<string, MethodDefinition<object, object>>>;
    const tableNamed = (descriptor: object): Table => {
      const { name } = descriptor as { readonly name: string };
      return (messages as Readonly<Record<string, unknown>>)[name] as Table;
    };

    for (const [name, call] of Object.entries(service)) {
      const ours = (ourService as object as Readonly<Record<string, MethodDefinition<object, object>>>)[name];
      assert.ok(ours !== undefined);
      const halves = [
        {
          half: 'request',
          table: tableNamed(call.requestType.type),
          write: (value: object) => call.requestSerialize(value),
          read: (bytes: Buffer) => call.requestDeserialize(bytes),
          readOurs: (bytes: Buffer) => ours.requestDeserialize(bytes),
          writeOurs: (value: object) => ours.requestSerialize(value),
        },
        {
          half: 'answer',
          table: tableNamed(call.responseType.type),
          write: (value: object) => call.responseSerialize(value),
          read: (bytes: Buffer) => call.responseDeserialize(bytes),
          readOurs: (bytes: Buffer) => ours.responseDeserialize(bytes),
          writeOurs: (value: object) => ours.responseSerialize(value),
        },
      ];
      for (const { half, table, write, read, readOurs, writeOurs } of halves) {
        it(`carries each ${half} of ${name} as a program with the .proto file does`, () => {
          fc.assert(
            fc.property(messageValue(table), (value: Decoded<Fields>) => {
              assert.deepEqual(withoutAbsent(read(writeOurs(value))), withoutAbsent(value));
              assert.deepEqual(readOurs(write(withoutAbsent(value) as object)), value);
            }),
            { numRuns: 40 },
          );
        });
      }
    }
  });
