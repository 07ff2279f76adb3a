// The hand decoder of device lists: v1beta1.ListAndWatchResponse, Device, TopologyInfo and NUMANode in one pass.
import { isUtf8 } from 'node:buffer';
import { HEALTHY, type Device, type DeviceList } from '../../model/device.js';
import { Reader, WIRE } from './reader.js';
import { WireError } from './wire-error.js';

/** Work of one slice: about a millisecond on a slow core. */
const SLICE_BYTES = 128 * 1024;
const SLICE_STEPS = 1_500;
/** Device ids are longer than the API allows (63) in the field; past this they are refused (contract 3). */
const MAX_ID_BYTES = 256;
/** Only `Healthy` has a meaning; of other texts this much is kept for people. */
const MAX_HEALTH_BYTES = 64;
/** No sane device takes more; bounds the work inside one slice. */
const MAX_DEVICE_BYTES = 64 * 1024;
/** Repeated ids that are reported by name. */
const MAX_DUPLICATES = 10;
/** Different health texts and NUMA sets that are shared between devices. */
const MAX_SHARED = 64;
/** Maps that the ids are spread over. */
const INDEXES = 32;

const tagOf = (field: number, framing: number): number => field * 8 + framing;
const DEVICE = tagOf(1, WIRE.BYTES);
const ID = tagOf(1, WIRE.BYTES);
const HEALTH = tagOf(2, WIRE.BYTES);
const TOPOLOGY = tagOf(3, WIRE.BYTES);
const NODE = tagOf(1, WIRE.BYTES);
const NODE_ID = tagOf(1, WIRE.VARINT);

const NO_NODES: readonly number[] = [];
const HEALTHY_BYTES = Buffer.from(HEALTHY);
const UNHEALTHY = 'Unhealthy';
const UNHEALTHY_BYTES = Buffer.from(UNHEALTHY);

/** Reads one message slice by slice; every problem is a WireError that says which device (counted from 1). */
export class DeviceListReader {
  readonly #bytes: Buffer;
  readonly #reader: Reader;
  readonly #maxDevices: number;
  readonly #devices: Device[] = [];
  /** Where each id stands. Several maps, because growing one map to hundreds of thousands of entries takes too long at once. */
  readonly #indexes = Array.from({ length: INDEXES }, () => new Map<string, number>());
  readonly #duplicates = new Set<string>();
  readonly #healths = new Map<string, string>();
  readonly #nodeSets = new Map<number, readonly number[]>();
  #entries = 0;
  #healthy = 0;
  /** Whether the list was refused because it has too many devices. */
  isOverCap = false;

  constructor(bytes: Buffer, maxDevices: number) {
    this.#bytes = bytes;
    this.#reader = new Reader(bytes);
    this.#maxDevices = maxDevices;
  }

  /** Reads on for one slice; true when the message is read to its end. */
  readSlice(): boolean {
    const reader = this.#reader;
    const until = Math.min(reader.end, reader.pos + SLICE_BYTES);
    for (let step = 0; step < SLICE_STEPS && reader.pos < until; step++) {
      const tag = reader.tag('the list');
      if (tag === DEVICE) this.#take(this.#readDevice());
      else reader.skip(tag, 'the list');
    }
    return reader.pos >= reader.end;
  }

  /** What was read. The last entry of a repeated id counts, in the place of its first. */
  list(): DeviceList {
    return { devices: this.#devices, healthy: this.#healthy, duplicates: [...this.#duplicates] };
  }

  #take(device: Device): void {
    const index = this.#indexes[hint(device.id)] as Map<string, number>;
    const before = index.get(device.id);
    if (device.health === HEALTHY) this.#healthy++;
    if (before === undefined) {
      index.set(device.id, this.#devices.length);
      this.#devices.push(device);
      return;
    }
    if (this.#devices[before]?.health === HEALTHY) this.#healthy--;
    this.#devices[before] = device;
    if (this.#duplicates.size < MAX_DUPLICATES) this.#duplicates.add(device.id);
  }

  #readDevice(): Device {
    this.#entries++;
    if (this.#entries > this.#maxDevices) {
      this.isOverCap = true;
      throw new WireError(`the list has more than ${this.#maxDevices} devices (admission.maxDevices)`);
    }
    try {
      return this.#readFields();
    } catch (problem) {
      if (!(problem instanceof WireError)) throw problem;
      throw new WireError(`device ${this.#entries} of the list is invalid: ${problem.message}`);
    }
  }

  #readFields(): Device {
    const reader = this.#reader;
    const outer = reader.end;
    const end = reader.lengthEnd('the device');
    if (end - reader.pos > MAX_DEVICE_BYTES) {
      throw new WireError(`it takes ${end - reader.pos} bytes, more than ${MAX_DEVICE_BYTES}`);
    }
    let id = '';
    let health = '';
    let nodes: number[] | undefined;
    reader.end = end;
    while (reader.pos < end) {
      const tag = reader.tag('the device');
      if (tag === ID) id = this.#readId();
      else if (tag === HEALTH) health = this.#readHealth();
      else if (tag === TOPOLOGY) nodes = this.#readTopology(nodes ?? []);
      else reader.skip(tag, 'the device');
    }
    reader.end = outer;
    if (id === '') throw new WireError('its id is empty');
    return { id, health, numaNodes: nodes === undefined ? NO_NODES : this.#shareNodes(nodes) };
  }

  #readId(): string {
    const start = this.#reader.pos;
    const id = this.#reader.text('its id');
    // The length prefix takes at most two bytes for an id of legal length.
    if (this.#reader.pos - start > MAX_ID_BYTES + 2) throw new WireError(`its id is longer than ${MAX_ID_BYTES} bytes`);
    return id;
  }

  #readHealth(): string {
    const reader = this.#reader;
    const end = reader.lengthEnd('its health');
    const start = reader.pos;
    reader.pos = end;
    if (this.#isText(HEALTHY_BYTES, start, end)) return HEALTHY;
    if (this.#isText(UNHEALTHY_BYTES, start, end)) return UNHEALTHY;
    if (!isUtf8(this.#bytes.subarray(start, end))) throw new WireError('its health is not valid UTF-8');
    let cut = Math.min(end, start + MAX_HEALTH_BYTES);
    while (cut < end && ((this.#bytes[cut] as number) & 0xc0) === 0x80) cut--;
    return share(this.#healths, this.#bytes.toString('utf8', start, cut), (text) => text);
  }

  #isText(expected: Buffer, start: number, end: number): boolean {
    if (end - start !== expected.length) return false;
    for (let index = 0; index < expected.length; index++) {
      if (this.#bytes[start + index] !== expected[index]) return false;
    }
    return true;
  }

  #readTopology(nodes: number[]): number[] {
    const reader = this.#reader;
    const outer = reader.end;
    reader.end = reader.lengthEnd('its topology');
    while (reader.pos < reader.end) {
      const tag = reader.tag('its topology');
      if (tag === NODE) nodes.push(this.#readNode());
      else reader.skip(tag, 'its topology');
    }
    reader.end = outer;
    return nodes;
  }

  #readNode(): number {
    const reader = this.#reader;
    const outer = reader.end;
    let node = 0;
    reader.end = reader.lengthEnd('its NUMA node');
    while (reader.pos < reader.end) {
      const tag = reader.tag('its NUMA node');
      if (tag === NODE_ID) node = reader.int64('its NUMA node');
      else reader.skip(tag, 'its NUMA node');
    }
    reader.end = outer;
    return node;
  }

  #shareNodes(nodes: number[]): readonly number[] {
    const [first] = nodes;
    return first === undefined || nodes.length > 1 ? nodes : share(this.#nodeSets, first, () => nodes);
  }
}

/** Which map an id goes to: from its last two characters, where ids of one plugin differ. */
function hint(id: string): number {
  return id.length < 2 ? 0 : (id.charCodeAt(id.length - 1) + 7 * id.charCodeAt(id.length - 2)) % INDEXES;
}

/** Keeps one copy of equal values, of the first few different ones. */
function share<K, T>(known: Map<K, T>, key: K, build: (key: K) => T): T {
  const found = known.get(key);
  if (found !== undefined) return found;
  const built = build(key);
  if (known.size < MAX_SHARED) known.set(key, built);
  return built;
}
