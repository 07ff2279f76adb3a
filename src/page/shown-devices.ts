// The devices of a resource as the page shows them, made so that only readers of a list pay for its length.
import { HEALTHY, type Device } from '../model/device.js';
import type { DeviceView } from '../model/views.js';
import type { ShownDevices } from './ports.js';

/** Devices that are looked at before others get their turn: well below a millisecond. */
const SLICE = 4096;

/** The ports of devices, of which `pageSource` (daemon/page) makes them; the lists are DecodedLists (inventory/decoded-lists). */
export interface DevicePorts {
  /** The devices of a list in the order of the page ({@link troubledFirst}), kept and made once for all readers. */
  readonly lists: { read(resource: string, raw: Buffer): Promise<readonly Device[]> };
  /** The list that counts for a resource; undefined where there is none. */
  readonly listOf: (resource: string) => Buffer | undefined;
  /** How devices of a resource are shown at this moment. */
  readonly viewOf: (resource: string) => (device: Device) => DeviceView;
}

/** The devices of resources, for the page. */
export class PageDevices {
  readonly #ports: DevicePorts;

  constructor(ports: DevicePorts) {
    this.#ports = ports;
  }

  /** Undefined where no resource has that name. */
  of(resource: string): Promise<ShownDevices> | undefined {
    const raw = this.#ports.listOf(resource);
    if (raw === undefined) return undefined;
    return this.#ports.lists.read(resource, raw).then((all) => {
      const view = this.#ports.viewOf(resource);
      return { total: all.length, slice: (from, to) => all.slice(from, to).map(view) };
    });
  }
}

/** Devices of a list: those that cannot be given out first, otherwise in their order. */
export function troubledFirst(devices: readonly Device[]): readonly Device[] {
  const isWell = ({ health }: Device): boolean => health === HEALTHY;
  return [...devices.filter((device) => !isWell(device)), ...devices.filter(isWell)];
}

/** The same of a long list. */
export async function troubledFirstInTurns(
  devices: readonly Device[],
  nextTurn: () => Promise<void>,
): Promise<readonly Device[]> {
  const sorted: Device[] = [];
  for (const isWell of [false, true]) {
    for (let from = 0; from < devices.length; from += SLICE) {
      const slice = devices.slice(from, from + SLICE);
      sorted.push(...slice.filter(({ health }) => (health === HEALTHY) === isWell));
      await nextTurn();
    }
  }
  return sorted;
}
