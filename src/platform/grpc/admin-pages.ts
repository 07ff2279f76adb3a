// Cuts the lists of the admin API into pages that fit a message, and puts resources together again.
import type { ShownResource } from '../../admin/plugin-views.js';
import type { DeviceView, ResourceView } from '../../model/views.js';

/**
 * Size aimed at, well below the 4 MiB that a gRPC client takes unless told otherwise: others wait while a page is encoded,
 * which takes some milliseconds.
 */
const PAGE_BYTES = 64 * 1024;

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
  const filling = new Filling(sizeOf);
  for (const item of items) yield* filling.add(item);
  yield* filling.rest();
}

/** A page that is being filled. */
class Filling<T> {
  readonly #sizeOf: (item: T) => number;
  #page: T[] = [];
  #bytes = 0;

  constructor(sizeOf: (item: T) => number) {
    this.#sizeOf = sizeOf;
  }

  /** The page, where an item does not fit on it any more: it is on the next one then. */
  *add(item: T): Generator<readonly T[]> {
    const size = this.#sizeOf(item);
    if (this.#bytes + size > PAGE_BYTES) yield* this.rest();
    this.#page.push(item);
    this.#bytes += size;
  }

  /** The page as far as it is filled; nothing is on it then. */
  *rest(): Generator<readonly T[]> {
    const page = this.#page;
    this.#page = [];
    this.#bytes = 0;
    if (page.length > 0) yield page;
  }
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
 * @param omitDevices leaves the devices out, which are not asked for then: they may be decoded at that moment
 */
export async function* resourcePages(
  resources: Iterable<ShownResource>,
  omitDevices: boolean,
): AsyncGenerator<readonly ResourcePart[]> {
  const filling = new Filling(sizeOfPart);
  for (const resource of resources) {
    const { name, plugin, state, capacity, allocatable, allocated, consumer, front } = resource;
    const head = { name, plugin, state, capacity, allocatable, allocated, consumer, front };
    let continues = false;
    for await (const some of omitDevices ? [] : resource.devices()) {
      for (const devices of pages(some, sizeOfDevice)) {
        yield* filling.add({ ...head, devices, continues });
        continues = true;
      }
    }
    if (!continues) yield* filling.add({ ...head, devices: [], continues });
  }
  yield* filling.rest();
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

function sizeOfDevice(device: DeviceView): number {
  return device.id.length + device.health.length + device.numaNodes.length * 2 + 8;
}

function sizeOfPart(part: ResourcePart): number {
  return part.devices.reduce(
    (size, device) => size + sizeOfDevice(device),
    sizeOfView(part) + sizeOfView(part.front) + 12,
  );
}
