import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import protobuf from 'protobufjs';
import type { Element } from '../../../src/platform/wire/table.js';
import { CALLS, MESSAGES } from './originals.js';
import { fullName, isGiven, loadProtos, protoCalls, protoMessages, tableCalls, tableOf } from './protos.js';

const root = loadProtos();
const isGivenMessage = (type: protobuf.Type): boolean => isGiven(fullName(type));

function label(field: protobuf.Field): string {
  if (field instanceof protobuf.MapField) return `map<${field.keyType},${field.type}>`;
  if (field.repeated) return `repeated ${field.type}`;
  return field.options?.['proto3_optional'] === true ? `optional ${field.type}` : field.type;
}

function describeMessage(type: protobuf.Type): string {
  const fields = type.fieldsArray.map((field) => `${field.name}=${String(field.id)}:${label(field)}`);
  return [`${fullName(type)}:`, ...fields].join(' ');
}

/** How a field of a .proto file must stand in a table. */
function expectedEntry(field: protobuf.Field): readonly unknown[] {
  const { resolvedType } = field;
  const element =
    resolvedType instanceof protobuf.Type
      ? fullName(resolvedType)
      : resolvedType instanceof protobuf.Enum
        ? 'enum'
        : field.options?.['jstype'] === 'JS_STRING'
          ? 'bigint'
          : field.type;
  if (field instanceof protobuf.MapField) return [field.id, 'map', element];
  if (field.repeated) return [field.id, 'repeated', element];
  const mayBeAbsent = field.partOf !== null && !(resolvedType instanceof protobuf.Type);
  return mayBeAbsent ? [field.id, 'optional', element] : [field.id, element];
}

const nameOf = (element: Element): string => (typeof element === 'string' ? element : element.name);

describe('the .proto files', () => {
  it('have the messages, field names, numbers and types of the originals', () => {
    assert.deepEqual(protoMessages(root).filter(isGivenMessage).map(describeMessage), MESSAGES.trim().split('\n'));
  });

  // Stubs that people have made bear these names, and code that uses them stops compiling when one changes.
  it('call what the Allocator speaks of by the names that are published', () => {
    const lease = root.lookupType('pluginbroker.v1.Lease');
    assert.deepEqual(
      lease.fieldsArray.slice(0, 9).map((field) => `${field.name}=${String(field.id)}:${label(field)}`),
      [
        'id=1:string',
        'granted=2:repeated Granted',
        'envs=3:map<string,string>',
        'mounts=4:repeated Mount',
        'devices=5:repeated DeviceSpec',
        'annotations=6:map<string,string>',
        'cdi_devices=7:repeated string',
        'state=8:string',
        'expires_at=9:string',
      ],
    );
    assert.deepEqual(
      ['Want', 'AllocateRequest'].map((name) => describeMessage(root.lookupType(`pluginbroker.v1.${name}`))),
      [
        'pluginbroker.v1.Want: resource=1:string count=2:int32 ids=3:repeated string numa=4:string',
        'pluginbroker.v1.AllocateRequest: wants=1:repeated Want owner=2:Owner key=3:string ttl_ms=4:int64 wait_ms=5:int64',
      ],
    );
    const streamed = (isStream: boolean | undefined, type: string): string =>
      `${isStream === true ? 'stream ' : ''}${type}`;
    assert.deepEqual(
      root
        .lookupService('pluginbroker.v1.Allocator')
        .methodsArray.map(
          ({ name, requestStream, requestType, responseStream, responseType }) =>
            `${name}: ${streamed(requestStream, requestType)} -> ${streamed(responseStream, responseType)}`,
        ),
      [
        'Allocate: AllocateRequest -> Lease',
        'Attach: stream AttachRequest -> stream LeaseEvent',
        'Renew: LeaseRef -> Lease',
        'Release: LeaseRef -> ReleaseReply',
        'List: ListRequest -> stream LeasePage',
      ],
    );
  });

  it('have the calls of the originals', () => {
    const streamed = (isStream: boolean | undefined, type: protobuf.Type | null): string =>
      `${isStream === true ? 'stream ' : ''}${fullName(type as protobuf.Type)}`;
    const calls = protoCalls(root)
      .filter(({ path }) => isGiven(path))
      .map(({ path, method: { requestStream, resolvedRequestType, responseStream, resolvedResponseType } }) => {
        const request = streamed(requestStream, resolvedRequestType);
        return `${path}: ${request} -> ${streamed(responseStream, resolvedResponseType)}`;
      });
    assert.deepEqual(calls, CALLS.trim().split('\n'));
  });

  it('document every message, field, call and value', () => {
    const silent: string[] = [];
    const look = (object: protobuf.ReflectionObject): void => {
      if ((object.comment ?? '') === '') silent.push(object.fullName);
    };
    for (const type of protoMessages(root)) [type, ...type.fieldsArray].forEach(look);
    for (const { method } of protoCalls(root)) [method, method.parent as protobuf.Service].forEach(look);
    assert.deepEqual(silent, []);
  });
});

describe('the tables', () => {
  it('have the fields of every message', () => {
    for (const type of protoMessages(root)) {
      const entries = Object.values(tableOf(fullName(type)).fields).map((field) =>
        field.length === 3 ? [field[0], field[1], nameOf(field[2])] : [field[0], nameOf(field[1])],
      );
      assert.deepEqual(entries, type.fieldsArray.map(expectedEntry), fullName(type));
    }
  });

  it('have every call under its own name and path', () => {
    const calls = tableCalls().map(({ key, call }) => {
      assert.equal(call.path.split('/').at(-1), key);
      return `${call.path} ${String(call.requestStream)} ${String(call.responseStream)}`;
    });
    const wanted = protoCalls(root).map(
      ({ path, method }) =>
        `${path} ${String(method.requestStream === true)} ${String(method.responseStream === true)}`,
    );
    assert.deepEqual(calls.sort(), wanted.sort());
  });
});
