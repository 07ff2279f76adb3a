// Reads `--device` and `--id`.
import { InvalidArgumentError } from 'commander';
import type { Want } from '../generated/proto/pluginbroker/v1/allocator.js';
import { CliError, EXIT } from './exit.js';

/** `--device R[=N]`: a number after `=` is always a count; a device of that name is asked for with `--id`. */
export function deviceOption(text: string, before: ReadonlyMap<string, number> = new Map()): Map<string, number> {
  const [, resource = '', count = '1'] = /^([^=]+?)(?:=(\d{1,9}))?$/.exec(text) ?? [];
  if (resource === '' || Number(count) < 1) {
    throw new InvalidArgumentError('It must be a resource, or a resource, = and how many devices of it: R=2.');
  }
  if (before.has(resource)) throw new InvalidArgumentError('The resource was named before; say how many with R=N.');
  return new Map([...before, [resource, Number(count)]]);
}

/** `--id R=ID`: everything after the first `=` is the id. */
export function idOption(
  text: string,
  before: readonly (readonly [resource: string, id: string])[] = [],
): (readonly [string, string])[] {
  const at = text.indexOf('=');
  if (at < 1 || at === text.length - 1)
    throw new InvalidArgumentError('It must be a resource, = and a device id: R=ID.');
  return [...before, [text.slice(0, at), text.slice(at + 1)]];
}

/**
 * Both together, in the order in which resources were named. Ids without a count ask for as many devices.
 *
 * @throws CliError when nothing is asked for, or more ids than devices
 */
export function wantsOf(
  devices: ReadonlyMap<string, number> = new Map(),
  named: readonly (readonly [resource: string, id: string])[] = [],
  numa = '',
): readonly Want[] {
  const resources = new Set([...devices.keys(), ...named.map(([resource]) => resource)]);
  if (resources.size === 0)
    throw new CliError(EXIT.usage, 'say which devices: --device RESOURCE[=COUNT] or --id RESOURCE=ID');
  return [...resources].map((resource) => {
    const ids = named.filter(([of]) => of === resource).map(([, id]) => id);
    const count = devices.get(resource) ?? ids.length;
    if (ids.length > count) {
      const message = `${ids.length} devices of ${resource} are named with --id, but --device asks for ${count}`;
      throw new CliError(EXIT.usage, message);
    }
    return { resource, count, ids, numa };
  });
}
