// The devices of a resource as the page shows them, made so that the length of a list costs nobody but those who ask for it.
import { DecodedLists, type DecodedListsPorts } from '../inventory/decoded-lists.js';
import { HEALTHY, type Device } from '../model/device.js';
import type { DeviceView } from '../model/views.js';
import type { ShownDevices } from './ports.js';

/** Devices that are looked at before others get their turn: well below a millisecond. */
const SLICE = 4096;

/** What is needed. */
export interface DevicePorts extends DecodedListsPorts {
  /** The list that counts for a resource; undefined where there is none. */
  readonly listOf: (resource: string) => Buffer | undefined;
  /** How devices of a resource are shown at this moment. */
  readonly viewOf: (resource: string) => (device: Device) => DeviceView;
  /** Resolves after others had their turn. */
  readonly nextTurn: () => Promise<void>;
}

/**
 * Lists that are kept in the order of the page while somebody looks at them, made once for all who ask. Not those that
 * leases are given from: whoever looks at a page is not to make these wait.
 */
export class PageDevices {
  readonly #ports: DevicePorts;
  readonly #lists: DecodedLists;

  constructor(ports: DevicePorts) {
    const { decode, decodeInTurns, nextTurn, clock } = ports;
    this.#ports = ports;
    this.#lists = new DecodedLists({
      decode: (raw) => troubledFirst(decode(raw)),
      decodeInTurns: async (raw) => troubledFirstInTurns(await decodeInTurns(raw), nextTurn),
      clock,
    });
  }

  /** Undefined where no resource has that name. */
  of(resource: string): Promise<ShownDevices> | undefined {
    const raw = this.#ports.listOf(resource);
    if (raw === undefined) return undefined;
    return this.#lists.read(resource, raw).then((all) => {
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
async function troubledFirstInTurns(
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
