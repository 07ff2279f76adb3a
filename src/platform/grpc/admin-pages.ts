// Cuts the lists of the admin API into pages that fit a message, and puts resources together again.
import type { DeviceView, ResourceView } from '../../model/views.js';

/** Size aimed at, well below the 4 MiB that a gRPC client takes unless told otherwise. */
const PAGE_BYTES = 512 * 1024;

/** A resource, or a further part of the one before. */
export interface ResourcePart extends ResourceView {
  readonly continues: boolean;
}

/**
 * Groups items until a page is full; one item may be larger than a page. Nothing gives no page.
 *
 * @param sizeOf about how many bytes an item takes in a message
 */
export function* pages<T>(items: Iterable<T>, sizeOf: (item: T) => number): Generator<readonly T[]> {
  let page: T[] = [];
  let bytes = 0;
  for (const item of items) {
    const size = sizeOf(item);
    if (page.length > 0 && bytes + size > PAGE_BYTES) {
      yield page;
      page = [];
      bytes = 0;
    }
    page.push(item);
    bytes += size;
  }
  if (page.length > 0) yield page;
}

/** About how many bytes a flat view takes: its texts, and a constant for each other field. */
export function sizeOfView(view: object): number {
  let size = 0;
  for (const value of Object.values(view)) size += typeof value === 'string' ? value.length + 4 : 12;
  return size;
}

/**
 * Pages of resources; one with many devices is spread over several parts.
 *
 * @param omitDevices leaves the devices out
 */
export function resourcePages(
  resources: Iterable<ResourceView>,
  omitDevices: boolean,
): Generator<readonly ResourcePart[]> {
  return pages(resourceParts(resources, omitDevices), sizeOfPart);
}

/** Puts the parts of each resource together, in the order they came. */
export class ResourceJoiner {
  readonly #joined: { head: ResourceView; devices: DeviceView[] }[] = [];

  /** Takes the next part. */
  add(part: ResourcePart): void {
    const { continues, devices, ...head } = part;
    const last = this.#joined.at(-1);
    if (!continues || last === undefined) this.#joined.push({ head: { ...head, devices: [] }, devices: [...devices] });
    else for (const device of devices) last.devices.push(device);
  }

  /** The resources so far. */
  resources(): readonly ResourceView[] {
    return this.#joined.map(({ head, devices }) => ({ ...head, devices }));
  }
}

/** Devices are asked for once, and not at all when they are left out: they may be decoded at that moment. */
function* resourceParts(resources: Iterable<ResourceView>, omitDevices: boolean): Generator<ResourcePart> {
  for (const resource of resources) {
    const { name, plugin, state, capacity, allocatable, allocated, consumer, front } = resource;
    const head = { name, plugin, state, capacity, allocatable, allocated, consumer, front };
    let continues = false;
    for (const devices of pages(omitDevices ? [] : resource.devices, sizeOfDevice)) {
      yield { ...head, devices, continues };
      continues = true;
    }
    if (!continues) yield { ...head, devices: [], continues };
  }
}

function sizeOfDevice(device: DeviceView): number {
  return device.id.length + device.health.length + device.numaNodes.length * 2 + 8;
}

function sizeOfPart(part: ResourcePart): number {
  return part.devices.reduce(
    (size, device) => size + sizeOfDevice(device),
    sizeOfView(part) + sizeOfView(part.front) + 12,
  );
}
