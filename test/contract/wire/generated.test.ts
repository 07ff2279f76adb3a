import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { loadFileDescriptorSetFromBuffer } from '@grpc/proto-loader';
import protobuf from 'protobufjs';
import descriptor, { type IFileDescriptorProto } from 'protobufjs/ext/descriptor/index.js';
import { fileDescriptors } from '../../../src/generated/proto/descriptors.js';
import { buildRoot } from '../../support/dist.js';
import { tempDir } from '../../support/temp-dir.js';
import { fullName, loadProtos, protoCalls, protoMessages } from './protos.js';

const SOURCES = path.join(buildRoot(), 'src');
const { wireTables } = (await import(pathToFileURL(path.join(buildRoot(), 'scripts/build-wire-tables.mjs')).href)) as {
  wireTables: (folder: string) => Map<string, string>;
};

describe('the generated tables', () => {
  it('are what the build made of the .proto files that are there now', () => {
    for (const [name, text] of wireTables(path.join(buildRoot(), 'proto'))) {
      assert.equal(readFileSync(path.join(SOURCES, 'generated/proto', name), 'utf8'), text, name);
    }
  });

  it('are the only ones: no source describes a message or a call by hand', () => {
    const byHand = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && !name.startsWith('generated/'))
      .filter((name) =>
        /^(?!export function).*(?<![#.\w])(message|unary|serverStream|bidiStream)\('/m.test(
          readFileSync(path.join(SOURCES, name), 'utf8'),
        ),
      );
    assert.deepEqual(byHand, []);
  });

  it('are in the bundle of the daemon, which has no reader of .proto files', () => {
    const bundle = readFileSync(path.join(buildRoot(), 'dist/serve.cjs'), 'utf8');
    assert.match(bundle, /\/v1beta1\.Registration\/Register/);
    assert.doesNotMatch(bundle, /syntax = "proto3"|protobufjs|illegal token/);
  });
});

describe('the generator of tables', () => {
  let folder: string;
  const made = (text: string, file = 'x/v1/a.proto'): string => {
    const target = path.join(folder, file);
    mkdirSync(path.dirname(target), { recursive: true });
    writeFileSync(target, text);
    return wireTables(folder).get(file.replace('.proto', '.ts')) ?? '';
  };
  beforeEach(() => {
    folder = tempDir();
  });

  it('follows the .proto file: another number is another table', () => {
    const numbered = (number: number): string =>
      made(`syntax = "proto3"; \npackage x.v1;\nmessage A { string name = ${String(number)}; }`);
    assert.match(numbered(7), /name: \[7, 'string'\]/);
    assert.match(numbered(8), /name: \[8, 'string'\]/);
  });

  it('knows whether a scalar of a oneof, or an optional one, was sent', () => {
    const text = made(
      'syntax = "proto3";\npackage x.v1;\nmessage A { oneof what { string one = 1; uint64 two = 2; } optional bool three = 3; }',
    );
    assert.match(text, /one: \[1, 'optional', 'string'\]/);
    assert.match(text, /two: \[2, 'optional', 'uint64'\]/);
    assert.match(text, /three: \[3, 'optional', 'bool'\]/);
  });

  it('takes messages of other files from their modules', () => {
    made('syntax = "proto3";\npackage x.v1;\nmessage Shared { repeated string IDs = 1; }');
    const text = made(
      'syntax = "proto3";\npackage x.v1;\nimport "x/v1/a.proto";\nmessage B { map<string, Shared> all = 1; }\nservice S { rpc Talk(stream B) returns (stream Shared) {} }',
      'x/v1/b.proto',
    );
    assert.match(text, /import \{ Shared \} from '\.\/a\.js'/);
    assert.match(text, /all: \[1, 'map', Shared\]/);
    assert.match(text, /Talk: .*bidiStream\('\/x\.v1\.S\/Talk', B, Shared\)/);
    assert.doesNotMatch(text, /export const Shared/);
  });

  const refused = [
    { what: 'a message that holds itself', field: 'A again = 1;', error: /x\.v1\.A holds itself/ },
    { what: 'a kind of value without a codec', field: 'double share = 1;', error: /x\.v1\.A\.share: .* TYPE_DOUBLE/ },
    { what: 'a map by number', field: 'map<int32, string> by = 1;', error: /x\.v1\.A\.by: .*text for keys/ },
  ];
  for (const { what, field, error } of refused) {
    it(`ends the build at ${what}`, () => {
      assert.throws(() => made(`syntax = "proto3";\npackage x.v1;\nmessage A { ${field} }`), error);
    });
  }
});

describe('the descriptors for server reflection', () => {
  const described = [...fileDescriptors].map(([name, text]) => {
    const file = descriptor.FileDescriptorProto.decode(Buffer.from(text, 'base64')) as object as IFileDescriptorProto;
    return { name, file };
  });

  it('describe every message and service of the .proto files', () => {
    const set = descriptor.FileDescriptorSet.encode({ file: described.map(({ file }) => file) }).finish();
    const found = new Set(Object.keys(loadFileDescriptorSetFromBuffer(Buffer.from(set))));
    const root = loadProtos();
    const services = protoCalls(root).map((call) => call.path.split('/')[1] as string);
    const outermost = protoMessages(root).filter(({ parent }) => !(parent instanceof protobuf.Type));
    const missing = [...outermost.map(fullName), ...services].filter((name) => !found.has(name));
    assert.deepEqual(missing, []);
  });

  it('name what they import, imports first, and types so that no scope has to be searched', () => {
    const before = new Set<string>();
    for (const { name, file } of described) {
      assert.equal(file.name, name);
      for (const imported of file.dependency as string[]) assert.ok(before.has(imported), `${name}: ${imported}`);
      before.add(name);
      const fields = (file.messageType ?? []).flatMap((message) => message.field ?? []);
      for (const field of fields) assert.match(field.typeName ?? '', /^(\.|$)/, `${name}: ${field.name ?? ''}`);
    }
  });
});
