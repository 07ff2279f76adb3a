// Reads .proto files with @grpc/proto-loader and completes the descriptors that it gives, from which the tables are
// generated and which server reflection answers with: it leaves names of types relative, imports out, and says of an
// optional scalar only that it is alone in a `oneof`.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { loadSync } from '@grpc/proto-loader';
import descriptor from 'protobufjs/ext/descriptor/index.js';
import { entryName, jsonName } from './names.mjs';

const { FileDescriptorProto } = descriptor;

/**
 * One .proto file.
 *
 * @typedef {object} ProtoFile
 * @property {string} name its path below proto/, as imports name it
 * @property {boolean} isOurs whether it is in proto/ and not one of the well-known types
 * @property {string[]} imports the files that it imports
 * @property {Set<string>} defines full names of its messages, enums and services
 * @property {object} descriptor its FileDescriptorProto as a plain object; names of types are absolute
 * @property {Uint8Array} bytes the same, encoded
 */

/**
 * Every .proto file of a folder, and its imports.
 *
 * @param {string} folder
 * @returns {Map<string, ProtoFile>} by name, imports first
 */
export function readProtoFiles(folder) {
  const files = new Map();
  const read = (name) => {
    if (files.has(name)) return;
    const source = sourceOf(path.join(folder, name));
    source.imports.forEach(read);
    files.set(name, readProtoFile(folder, name, source, files));
  };
  const names = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.proto'));
  names.sort().forEach(read);
  return files;
}

/** The well-known types of google/protobuf/ come with the loader; those that it has import nothing. */
function sourceOf(file) {
  if (!existsSync(file)) return { isOurs: false, inPackage: 'google.protobuf', imports: [] };
  const text = readFileSync(file, 'utf8');
  const inPackage = /^package ([\w.]+);/m.exec(text)?.[1];
  if (inPackage === undefined) throw new Error(`${file} names no package`);
  return {
    isOurs: true,
    inPackage,
    imports: [...text.matchAll(/^import "([^"]+)";/gm)].map(([, imported]) => imported),
  };
}

function readProtoFile(folder, name, { isOurs, inPackage, imports }, files) {
  const file = descriptorOf(folder, name, inPackage);
  const elsewhere = new Set([...reachable(imports, files)].flatMap((imported) => [...files.get(imported).defines]));
  const isOwn = (defined) => !elsewhere.has(`${inPackage}.${defined.name}`);
  for (const list of ['messageType', 'enumType', 'service']) file[list] = file[list].filter(isOwn);
  file.name = name;
  file.dependency = imports;
  const defines = new Set([
    ...definedBelow(inPackage, file),
    ...file.service.map((each) => `${inPackage}.${each.name}`),
  ]);
  const known = new Set([...elsewhere, ...defines]);
  for (const message of file.messageType) complete(message, `${inPackage}.${message.name}`, known);
  const bytes = FileDescriptorProto.encode(FileDescriptorProto.fromObject(file)).finish();
  return { name, isOurs, imports, defines, descriptor: file, bytes };
}

/** The loader's result for the package of a file: the file itself and its imports of the same package. */
function descriptorOf(folder, name, inPackage) {
  const [any] = Object.values(loadQuietly(folder, name));
  const descriptors = any?.fileDescriptorProtos ?? Object.values(any ?? {})[0]?.requestType.fileDescriptorProtos ?? [];
  const found = descriptors
    .map((bytes) => FileDescriptorProto.toObject(FileDescriptorProto.decode(bytes), { enums: String, arrays: true }))
    .find((file) => file.package === inPackage);
  if (found === undefined) throw new Error(`${name} defines nothing in ${inPackage}`);
  return found;
}

/** The loader warns of each well-known type that it takes from itself. */
function loadQuietly(folder, name) {
  const { emitWarning } = process;
  process.emitWarning = (text, ...rest) =>
    String(text).startsWith('google/protobuf/') ? undefined : emitWarning.call(process, text, ...rest);
  try {
    return loadSync(name, { keepCase: true, includeDirs: [folder] });
  } finally {
    process.emitWarning = emitWarning;
  }
}

function reachable(imports, files) {
  return new Set(imports.flatMap((name) => [name, ...reachable(files.get(name).imports, files)]));
}

function definedBelow(scope, { messageType, nestedType, enumType }) {
  const nested = (messageType ?? nestedType).flatMap((message) => {
    const full = `${scope}.${message.name}`;
    return [full, ...definedBelow(full, message)];
  });
  return [...nested, ...enumType.map((each) => `${scope}.${each.name}`)];
}

/** Makes a message and those in it what protoc would give. */
function complete(message, fullName, known) {
  for (const field of message.field) {
    field.jsonName = jsonName(field.name);
    const isMap = message.nestedType.find((nested) => nested.name === field.typeName && nested.options?.mapEntry);
    if (isMap) isMap.name = field.typeName = entryName(field.name);
    if (field.typeName)
      field.typeName = isMap ? `.${fullName}.${field.typeName}` : absolute(field.typeName, fullName, known);
    if (message.oneofDecl[field.oneofIndex]?.name === `_${field.name}`) field.proto3Optional = true;
  }
  for (const nested of message.nestedType) complete(nested, `${fullName}.${nested.name}`, known);
}

function absolute(name, scope, known) {
  if (name.startsWith('.')) return name;
  for (let within = scope; within !== ''; within = within.slice(0, Math.max(0, within.lastIndexOf('.')))) {
    if (known.has(`${within}.${name}`)) return `.${within}.${name}`;
  }
  if (!known.has(name)) throw new Error(`${scope} names ${name}, which is not defined`);
  return `.${name}`;
}
