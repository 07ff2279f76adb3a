// The files that describe our services, for reflection: read on first use, found by name and by the symbols they define.
import { Reader, WIRE } from '../wire/reader.js';

/** Fields of google.protobuf.FileDescriptorProto and of its messages (protobuf's descriptor.proto). */
const FILE = { name: 1, package: 2, dependency: 3, message: 4, enum: 5, service: 6 } as const;
const MESSAGE = { name: 1, nested: 3, enum: 4 } as const;
const SERVICE = { name: 1, method: 2 } as const;
/** Messages within messages. */
const MOST_NESTED = 16;

interface Described {
  readonly bytes: Buffer;
  readonly dependencies: readonly string[];
}

/** All files. */
export class DescribedFiles {
  readonly #load: () => Promise<ReadonlyMap<string, string>>;
  readonly #files = new Map<string, Described>();
  /** The file that defines each symbol, by full names. */
  readonly #symbols = new Map<string, string>();
  #loading: Promise<void> | undefined;

  /** @param load gives files in base64 by their names */
  constructor(load: () => Promise<ReadonlyMap<string, string>>) {
    this.#load = load;
  }

  /** A file and all that it imports, the imports last; undefined when there is none of this name. */
  async byName(name: string): Promise<readonly Buffer[] | undefined> {
    await (this.#loading ??= this.#read());
    if (!this.#files.has(name)) return undefined;
    const wanted = new Set([name]);
    for (const one of wanted) for (const dependency of this.#files.get(one)?.dependencies ?? []) wanted.add(dependency);
    return [...wanted].flatMap((one) => this.#files.get(one)?.bytes ?? []);
  }

  /** The file that defines a service, method, message or enum, and all that it imports. */
  async bySymbol(symbol: string): Promise<readonly Buffer[] | undefined> {
    await (this.#loading ??= this.#read());
    const name = this.#symbols.get(symbol);
    return name === undefined ? undefined : this.byName(name);
  }

  async #read(): Promise<void> {
    for (const [name, text] of await this.#load()) {
      const bytes = Buffer.from(text, 'base64');
      const file = fieldsOf(bytes);
      const dependencies = (file.get(FILE.dependency) ?? []).map(String);
      this.#files.set(name, { bytes, dependencies });
      const packageName = String(file.get(FILE.package)?.[0] ?? '');
      const within = packageName === '' ? '' : `${packageName}.`;
      const define = (symbol: string): void => void this.#symbols.set(symbol, name);
      for (const message of file.get(FILE.message) ?? []) this.#message(message, within, define, MOST_NESTED);
      for (const one of file.get(FILE.enum) ?? []) define(`${within}${nameOf(one)}`);
      for (const service of file.get(FILE.service) ?? []) {
        const fullName = `${within}${nameOf(service)}`;
        define(fullName);
        for (const method of fieldsOf(service).get(SERVICE.method) ?? []) define(`${fullName}.${nameOf(method)}`);
      }
    }
  }

  #message(bytes: Buffer, within: string, define: (symbol: string) => void, depth: number): void {
    const fullName = `${within}${nameOf(bytes)}`;
    define(fullName);
    if (depth === 0) return;
    const fields = fieldsOf(bytes);
    for (const nested of fields.get(MESSAGE.nested) ?? []) this.#message(nested, `${fullName}.`, define, depth - 1);
    for (const one of fields.get(MESSAGE.enum) ?? []) define(`${fullName}.${nameOf(one)}`);
  }
}

/** Messages, enums, services and methods all have their name in field 1. */
function nameOf(bytes: Buffer): string {
  return String(fieldsOf(bytes).get(1)?.[0] ?? '');
}

/** The fields of a message that are texts or messages, by number. */
function fieldsOf(bytes: Buffer): Map<number, Buffer[]> {
  const fields = new Map<number, Buffer[]>();
  const reader = new Reader(bytes);
  while (reader.pos < reader.end) {
    const tag = reader.tag('a descriptor');
    if ((tag & 7) !== WIRE.BYTES) {
      reader.skip(tag, 'a descriptor');
      continue;
    }
    const number = tag >>> 3;
    const value = reader.bytes('a descriptor');
    const before = fields.get(number);
    if (before === undefined) fields.set(number, [value]);
    else before.push(value);
  }
  return fields;
}
