// The .proto files at run time. Simulated plugins speak through them and proto-loader, so that they share no code with
// the codec of the broker.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { MethodDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

/** A method with plain objects for messages; a Buffer as answer is sent as it is. */
export type LoadedMethod = MethodDefinition<object, object | Buffer>;
/** Methods by name; those that are called by name are known to be there. */
export type LoadedService<Method extends string = never> = Readonly<Record<string, LoadedMethod>> &
  Readonly<Record<Method, LoadedMethod>>;

/**
 * Loads services.
 *
 * @param file below proto/
 * @param wanted full names of services in it, each with methods that it must have
 * @throws Error when the installation lacks the file, or the file lacks a service or method
 */
export function loadServices<const Wanted extends Record<string, readonly string[]>>(
  file: string,
  wanted: Wanted,
): { readonly [Name in keyof Wanted]: LoadedService<Wanted[Name][number]> } {
  const root = protoRoot();
  const loaded = loadSync(path.join(root, file), { includeDirs: [root], longs: Number, defaults: true });
  const services = Object.entries(wanted).map(([name, needed]) => {
    const service: object = loaded[name] ?? {};
    const missing = needed.find((method) => !Object.hasOwn(service, method));
    if (missing !== undefined) throw new Error(`${file} has no ${name}/${missing}`);
    const methods = Object.entries(service as LoadedService);
    return [name, Object.fromEntries(methods.map(([method, definition]) => [method, passingBuffers(definition)]))];
  });
  return Object.fromEntries(services) as { [Name in keyof Wanted]: LoadedService<Wanted[Name][number]> };
}

function passingBuffers(method: LoadedMethod): LoadedMethod {
  return {
    ...method,
    responseSerialize: (value) => (Buffer.isBuffer(value) ? value : method.responseSerialize(value)),
  };
}

/** The nearest `proto/` above this file: beside dist/ in an installation, beside build/ in tests. */
function protoRoot(): string {
  const here = path.dirname(fileURLToPath(import.meta.url));
  for (let folder = here; ; folder = path.dirname(folder)) {
    const candidate = path.join(folder, 'proto');
    if (existsSync(path.join(candidate, 'deviceplugin'))) return candidate;
    if (path.dirname(folder) === folder)
      throw new Error(`no proto directory above ${here}; the installation is incomplete`);
  }
}
