// The hand decoder of device lists, in two forms: the sum of a list, which every taken list needs, and its devices, which
// only people ask for.
import { HEALTHY, type Device, type ListSummary } from '../../model/device.js';
import { DeviceWalk, type DeviceEntry } from './device-walk.js';
import { IdIndex, NEW, NOTES, randomKeys } from './id-index.js';

/** Only `Healthy` has a meaning; of other texts this much is kept for people. */
const MAX_HEALTH_BYTES = 64;
/** Repeated ids that are reported by name. */
const MAX_DUPLICATES = 10;
/** Different health texts and NUMA sets that are shared between devices. */
const MAX_SHARED = 64;
/** Nodes of one device that are kept; no machine has a device that is near more of them. */
export const MAX_NODES = 64;

const NO_NODES: readonly number[] = [];

/** For all lists: new ones for each would cost as much as a short list does, and nobody outside ever sees a hash. */
const KEYS = randomKeys();

/** Sums up one message slice by slice; every problem is a WireError that says which device (counted from 1). */
export class DeviceListReader {
  readonly #bytes: Buffer;
  readonly #walk: DeviceWalk;
  readonly #ids: IdIndex;
  readonly #duplicates: string[] = [];
  #healthy = 0;

  /**
   * @param bytes the message; not to change before it is read
   * @param maxDevices every entry counts, repeated ids too
   */
  constructor(bytes: Buffer, maxDevices: number) {
    this.#bytes = bytes;
    this.#walk = new DeviceWalk(bytes, maxDevices, (device) => this.#take(device));
    this.#ids = new IdIndex(bytes, maxDevices, KEYS);
  }

  /** Whether the list was refused because it has too many devices. */
  get isOverCap(): boolean {
    return this.#walk.isOverCap;
  }

  /** Reads on for one slice; true when the message is read to its end. */
  readSlice(): boolean {
    return this.#walk.readSlice();
  }

  /** The figures read. The last entry of a repeated id counts. */
  summary(): ListSummary {
    return { devices: this.#ids.size, healthy: this.#healthy, duplicates: this.#duplicates };
  }

  #take({ idStart, idEnd, isHealthy }: DeviceEntry): void {
    const before = this.#ids.put(idStart, idEnd, isHealthy);
    if (isHealthy) this.#healthy++;
    if (before === NEW) return;
    if ((before & NOTES.HEALTHY) !== 0) this.#healthy--;
    if ((before & NOTES.REPEATED) === 0 && this.#duplicates.length < MAX_DUPLICATES) {
      this.#duplicates.push(this.#bytes.toString('utf8', idStart, idEnd));
    }
  }
}

/** Makes the devices of a list slice by slice. The last entry of a repeated id counts, in the place of its first. */
export class DeviceMaker {
  readonly #devices = new Map<string, Device>();
  readonly #walk: DeviceWalk;

  /** @param bytes the message; not to change before it is read */
  constructor(bytes: Buffer) {
    const healths = new Map<string, string>();
    const nodeSets = new Map<number, readonly number[]>();
    this.#walk = new DeviceWalk(bytes, Infinity, (device) => {
      const id = bytes.toString('utf8', device.idStart, device.idEnd);
      const health = device.isHealthy ? HEALTHY : share(healths, healthText(bytes, device), (text) => text);
      this.#devices.set(id, { id, health, numaNodes: nodesOf(device, nodeSets) });
    });
  }

  /**
   * Reads on for one slice; true when the message is read to its end.
   *
   * @throws WireError when it is no list
   */
  readSlice(): boolean {
    return this.#walk.readSlice();
  }

  /** The devices read. */
  devices(): Device[] {
    return [...this.#devices.values()];
  }
}

/**
 * The devices of a list at once.
 *
 * @throws WireError when it is no list
 */
export function readDevices(bytes: Buffer): Device[] {
  const maker = new DeviceMaker(bytes);
  while (!maker.readSlice());
  return maker.devices();
}

/** The health as far as it is kept; never half a character. */
function healthText(bytes: Buffer, { healthStart, healthEnd }: DeviceEntry): string {
  let cut = Math.min(healthEnd, healthStart + MAX_HEALTH_BYTES);
  while (cut < healthEnd && ((bytes[cut] as number) & 0xc0) === 0x80) cut--;
  return bytes.toString('utf8', healthStart, cut);
}

function nodesOf({ nodes, nodeCount }: DeviceEntry, known: Map<number, readonly number[]>): readonly number[] {
  const [first] = nodes;
  if (first === undefined || nodeCount === 0) return NO_NODES;
  return nodeCount > 1 ? nodes.slice(0, Math.min(nodeCount, MAX_NODES)) : share(known, first, () => [first]);
}

/** Keeps one copy of equal values, of the first few different ones. */
function share<K, T>(known: Map<K, T>, key: K, build: (key: K) => T): T {
  const found = known.get(key);
  if (found !== undefined) return found;
  const built = build(key);
  if (known.size < MAX_SHARED) known.set(key, built);
  return built;
}
