import assert from 'node:assert/strict';
import path from 'node:path';
import { describe, it } from 'node:test';
import { loadSync, type MethodDefinition } from '@grpc/proto-loader';
import fc from 'fast-check';
import protobuf from 'protobufjs';
import * as tables from '../../../src/platform/wire/services/admin.js';
import type { Decoded, Element, Fields, MessageType } from '../../../src/platform/wire/table.js';
import { buildRoot } from '../../support/dist.js';
import { messageValue } from '../wire/values.js';

type Table = MessageType<Fields>;
interface Call {
  readonly path: string;
  readonly requestStream: boolean;
  readonly responseStream: boolean;
}

const FILE = path.join(buildRoot(), 'proto/pluginbroker/v1/admin.proto');
const { adminService, ...messages } = tables;
const service = loadSync(FILE, { longs: Number, defaults: true, arrays: true })['pluginbroker.v1.Admin'] as Readonly<
  Record<string, MethodDefinition<object, object>>
>;
const parsed = new protobuf.Root();
parsed.loadSync(FILE, { keepCase: true, alternateCommentMode: true }).resolveAll();
const declared = parsed.lookup('pluginbroker.v1') as protobuf.Namespace;
const types = declared.nestedArray.filter((object): object is protobuf.Type => object instanceof protobuf.Type);

const camel = (name: string): string => name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
const nameOf = (element: Element): string =>
  typeof element === 'string' ? element : element.name.replace('pluginbroker.v1.', '');

/** The .proto library gives null for a message that was not sent. */
function undefinedForNull(value: unknown): unknown {
  if (value === null) return undefined;
  if (Array.isArray(value)) return value.map(undefinedForNull);
  if (typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, held]) => [key, undefinedForNull(held)]));
}

describe('the admin API', () => {
  it('has the same messages and fields in its tables as in its .proto file, in the same order', () => {
    const inTables = (Object.values(messages) as Table[]).map(({ name, fields }) => ({
      name: name.replace('pluginbroker.v1.', ''),
      fields: Object.entries(fields).map(([key, field]) =>
        field.length === 3 ? [key, field[0], field[1], nameOf(field[2])] : [key, field[0], 'plain', nameOf(field[1])],
      ),
    }));
    const inProto = types.map(({ name, fieldsArray }) => ({
      name,
      fields: fieldsArray.map((field) => [
        camel(field.name),
        field.id,
        field.repeated ? 'repeated' : 'plain',
        field.type,
      ]),
    }));
    const byName = (a: { name: string }, b: { name: string }): number => (a.name < b.name ? -1 : 1);
    assert.deepEqual(inTables.sort(byName), inProto.sort(byName));
  });

  it('has the same calls in its table as in its .proto file', () => {
    const shape = ([name, call]: [string, Call]): unknown => [name, call.path, call.requestStream, call.responseStream];
    assert.deepEqual(Object.entries(adminService).map(shape), Object.entries(service).map(shape));
  });

  it('documents every message, field and call', () => {
    const admin = parsed.lookupService('pluginbroker.v1.Admin');
    const objects = [admin, ...admin.methodsArray, ...types, ...types.flatMap(({ fieldsArray }) => fieldsArray)];
    const silent = objects.filter(({ comment }) => (comment ?? '') === '').map(({ fullName }) => fullName);
    assert.deepEqual(silent, []);
  });

  for (const [name, call] of Object.entries(service)) {
    const ours = adminService[name as keyof typeof adminService];
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
            assert.deepEqual(undefinedForNull(read(writeOurs(value))), value);
            assert.deepEqual(readOurs(write(value)), value);
          }),
          { numRuns: 40 },
        );
      });
    }
  }
});

function tableNamed(descriptor: object): Table {
  const { name } = descriptor as { readonly name: string };
  return messages[name as keyof typeof messages];
}
