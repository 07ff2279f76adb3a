import { readdirSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import protobuf from 'protobufjs';
import type { Fields, MessageType } from '../../../src/platform/wire/table.js';
import { buildRoot } from '../../support/dist.js';

const PROTO = path.join(buildRoot(), 'proto');
const GENERATED = path.join(buildRoot(), 'build/src/generated/proto');

/** Names without their leading dot, as in a .proto file. */
export const fullName = (object: protobuf.ReflectionObject): string => object.fullName.slice(1);

/** All our .proto files, by a protobuf library that shares no code with the codec under test. */
export function loadProtos(): protobuf.Root {
  const root = new protobuf.Root();
  root.resolvePath = (_origin, target) => (path.isAbsolute(target) ? target : path.join(PROTO, target));
  for (const file of below(PROTO, '.proto')) root.loadSync(file, { keepCase: true, alternateCommentMode: true });
  root.resolveAll();
  return root;
}

const below = (folder: string, ending: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .sort()
    .map((name) => path.join(folder, name));

function inside(namespace: protobuf.NamespaceBase): protobuf.ReflectionObject[] {
  return namespace.nestedArray.flatMap((object) => [
    object,
    ...(object instanceof protobuf.Namespace ? inside(object) : []),
  ]);
}

/** Whether an API was made by others, so that nothing in it may ever change. */
export const isGiven = (name: string): boolean => !/^\/?(pluginbroker|google)\./.test(name);
const isOurs = (object: protobuf.ReflectionObject): boolean => !fullName(object).startsWith('google.protobuf.');

/** Every message of our .proto files, in order of names. */
export function protoMessages(root: protobuf.Root): protobuf.Type[] {
  return inside(root)
    .filter((object): object is protobuf.Type => object instanceof protobuf.Type && isOurs(object))
    .sort((a, b) => (fullName(a) < fullName(b) ? -1 : 1));
}

/** Every call of our .proto files. */
export function protoCalls(root: protobuf.Root): { path: string; method: protobuf.Method }[] {
  return inside(root)
    .filter((object): object is protobuf.Service => object instanceof protobuf.Service)
    .flatMap((service) =>
      service.methodsArray.map((method) => ({ path: `/${fullName(service)}/${method.name}`, method })),
    )
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

const modules = await Promise.all(
  below(GENERATED, '.js').map(async (file) => (await import(pathToFileURL(file).href)) as Record<string, unknown>),
);
const exported = modules.flatMap((module) => Object.values(module));

const hasOwn = (value: unknown, key: string): boolean =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, key);

/** Our tables by full name. */
export function tableOf(name: string): MessageType<Fields> {
  const found = exported.find(
    (value): value is MessageType<Fields> => hasOwn(value, 'fields') && (value as MessageType<Fields>).name === name,
  );
  if (found === undefined) throw new Error(`no table for ${name}`);
  return found;
}

/** One entry of a service table as far as the tests look at it. */
export interface TableCall {
  readonly path: string;
  readonly requestStream: boolean;
  readonly responseStream: boolean;
  requestSerialize(value: object): Buffer;
  requestDeserialize(bytes: Buffer): object;
  responseSerialize(value: object): Buffer;
  responseDeserialize(bytes: Buffer): object;
}

/** Every call of our service tables, with the key it stands under. */
export function tableCalls(): { key: string; call: TableCall }[] {
  return exported
    .filter((value): value is Record<string, TableCall> =>
      Object.values(Object(value) as object).some((v) => hasOwn(v, 'requestSerialize')),
    )
    .flatMap((service) => Object.entries(service).map(([key, call]) => ({ key, call })));
}
