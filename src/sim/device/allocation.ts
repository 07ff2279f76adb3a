// A simulated plugin's answers about devices that are given away, as plugins in the field do: it refuses ids that it does not
// have, and answers with the paths and variables that a container needs to use the others.
import { status } from '@grpc/grpc-js';
import type { AllocationOptions, HostPath, Pair } from './allocation-options.js';
import { CallFault } from './faults.js';

/** Requests as the loader of .proto files gives them. */
export interface AllocationRequest {
  readonly devicesIds?: readonly string[];
  readonly containerRequests?: readonly {
    readonly devicesIds?: readonly string[];
    readonly availableDeviceIDs?: readonly string[];
    readonly mustIncludeDeviceIDs?: readonly string[];
    readonly allocationSize?: number;
  }[];
}

/** The answers of one simulated plugin. */
export class Allocation {
  readonly #options: AllocationOptions;
  readonly #has: (id: string) => boolean;
  #calls = 0;

  /** @param has whether a device of this id is in the plugin's list */
  constructor(options: AllocationOptions, has: (id: string) => boolean) {
    this.#options = options;
    this.#has = has;
  }

  /** GetPreferredAllocation: the ids that must be included, filled up to the size from one end of the offered ones. */
  preferred({ containerRequests = [] }: AllocationRequest): object {
    return {
      containerResponses: containerRequests.map(
        ({ availableDeviceIDs = [], mustIncludeDeviceIDs: fixed = [], allocationSize = 0 }) => {
          const others = availableDeviceIDs.filter((id) => !fixed.includes(id));
          const offered = this.#options.prefer === 'last' ? others.toReversed() : others;
          return { deviceIDs: [...fixed, ...offered].slice(0, allocationSize) };
        },
      ),
    };
  }

  /** Allocate. @throws CallFault for an id that the plugin does not have */
  allocated({ containerRequests = [] }: AllocationRequest): object {
    this.#calls++;
    for (const { devicesIds = [] } of containerRequests) this.#check(devicesIds);
    return { containerResponses: containerRequests.map(({ devicesIds = [] }) => this.#answer(devicesIds)) };
  }

  /** PreStartContainer. @throws CallFault for an id that the plugin does not have */
  started({ devicesIds = [] }: AllocationRequest): object {
    this.#check(devicesIds);
    return {};
  }

  #check(ids: readonly string[]): void {
    const unknown = ids.find((id) => !this.#has(id));
    if (unknown !== undefined) throw new CallFault(status.UNKNOWN, `unknown device: ${unknown}`);
  }

  #answer(ids: readonly string[]): object {
    const { allocateEnv, allocateDevice, allocateMount, allocateCdi, allocateAnnotation } = this.#options;
    const envs: readonly Pair[] = allocateEnv.length === 0 ? [['SIM_DEVICES', '{ids}']] : allocateEnv;
    const filled = (text: string): string =>
      text.replaceAll('{ids}', () => ids.join(',')).replaceAll('{n}', String(this.#calls));
    const pairs = (given: readonly Pair[]): Record<string, string> =>
      Object.fromEntries(given.map(([name, value]) => [name, filled(value)]));
    return {
      envs: pairs(envs),
      devices: allocateDevice
        .flatMap((device) => perId(device, ids))
        .map(({ hostPath, containerPath, mode }) => ({ hostPath, containerPath, permissions: mode })),
      mounts: allocateMount
        .flatMap((mount) => perId(mount, ids))
        .map(({ hostPath, containerPath, mode }) => ({ hostPath, containerPath, readOnly: mode === 'ro' })),
      annotations: pairs(allocateAnnotation),
      cdiDevices: allocateCdi
        .flatMap((name) => (name.includes('{id}') ? ids.map((id) => name.replaceAll('{id}', () => id)) : [name]))
        .map((name) => ({ name })),
    };
  }
}

/** One path, or one for each device when `{id}` stands in it. */
function perId(given: HostPath, ids: readonly string[]): HostPath[] {
  const { hostPath, containerPath, mode } = given;
  if (!hostPath.includes('{id}') && !containerPath.includes('{id}')) return [given];
  return ids.map((id) => ({
    hostPath: hostPath.replaceAll('{id}', () => id),
    containerPath: containerPath.replaceAll('{id}', () => id),
    mode,
  }));
}
