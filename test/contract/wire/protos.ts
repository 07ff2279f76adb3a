import path from 'node:path';
import protobuf from 'protobufjs';
import * as csi from '../../../src/platform/wire/services/csi.js';
import * as device from '../../../src/platform/wire/services/device-plugin.js';
import * as dra from '../../../src/platform/wire/services/dra.js';
import * as registration from '../../../src/platform/wire/services/plugin-registration.js';
import type { Fields, MessageType } from '../../../src/platform/wire/table.js';

const FILES = [
  'deviceplugin/v1beta1/deviceplugin',
  'pluginregistration/v1/pluginregistration',
  'csi/v1/csi',
  'dra/v1/dra',
  'dra/v1beta1/dra',
];

/** Names without their leading dot, as in a .proto file. */
export const fullName = (object: protobuf.ReflectionObject): string => object.fullName.slice(1);

/** All our .proto files, by a protobuf library that shares no code with the codec under test. */
export function loadProtos(): protobuf.Root {
  const root = new protobuf.Root();
  for (const file of FILES)
    root.loadSync(path.resolve('proto', `${file}.proto`), { keepCase: true, alternateCommentMode: true });
  root.resolveAll();
  return root;
}

function below(namespace: protobuf.NamespaceBase): protobuf.ReflectionObject[] {
  return namespace.nestedArray.flatMap((object) => [
    object,
    ...(object instanceof protobuf.Namespace ? below(object) : []),
  ]);
}

const isOurs = (object: protobuf.ReflectionObject): boolean => !fullName(object).startsWith('google.');

/** Every message of our .proto files, in order of names. */
export function protoMessages(root: protobuf.Root): protobuf.Type[] {
  return below(root)
    .filter((object): object is protobuf.Type => object instanceof protobuf.Type && isOurs(object))
    .sort((a, b) => (fullName(a) < fullName(b) ? -1 : 1));
}

/** Every call of our .proto files. */
export function protoCalls(root: protobuf.Root): { path: string; method: protobuf.Method }[] {
  return below(root)
    .filter((object): object is protobuf.Service => object instanceof protobuf.Service)
    .flatMap((service) =>
      service.methodsArray.map((method) => ({ path: `/${fullName(service)}/${method.name}`, method })),
    )
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

const exported = [device, registration, csi, dra].flatMap((module) => Object.values(module) as unknown[]);

const hasOwn = (value: unknown, key: string): boolean =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, key);

/** Our tables by full name; the tables of DRA v1 stand for v1beta1 too. */
export function tableOf(name: string): MessageType<Fields> {
  const wanted = name.replace('.dra.v1beta1.', '.dra.v1.');
  const found = exported.find(
    (value): value is MessageType<Fields> => hasOwn(value, 'fields') && (value as MessageType<Fields>).name === wanted,
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
