// Lists of devices that are kept decoded, because deciding about devices reads them again and again.
import type { Device } from '../model/device.js';

/** Lists that are kept, and how many devices each may have. */
const MOST_LISTS = 32;
const MOST_DEVICES = 4096;

/** The newest list of each of some resources, decoded. */
export class DecodedLists {
  readonly #decode: (raw: Buffer) => readonly Device[];
  readonly #known = new Map<string, { readonly raw: Buffer; readonly devices: readonly Device[] }>();

  /** @param decode reads the wire form of a list that was accepted before */
  constructor(decode: (raw: Buffer) => readonly Device[]) {
    this.#decode = decode;
  }

  /** The devices of a resource's list. */
  of(resource: string, raw: Buffer): readonly Device[] {
    const known = this.#known.get(resource);
    if (known?.raw === raw) return known.devices;
    const devices = this.#decode(raw);
    this.#known.delete(resource);
    if (devices.length > MOST_DEVICES) return devices;
    this.#known.set(resource, { raw, devices });
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= MOST_LISTS) break;
      this.#known.delete(oldest);
    }
    return devices;
  }
}
