// Walks over the devices of a list where they stand in its bytes and checks them: v1beta1.ListAndWatchResponse, Device,
// TopologyInfo and NUMANode in one pass that makes nothing per device.
import { isUtf8 } from 'node:buffer';
import { HEALTHY } from '../../model/device.js';
import { MAX_ID_BYTES } from './id-index.js';
import { Reader, WIRE } from './reader.js';
import { WireError } from './wire-error.js';

/** Work of one slice: below a millisecond on a slow core. */
const SLICE_BYTES = 128 * 1024;
const SLICE_DEVICES = 1_500;
/** No sane device takes more; bounds the work inside one slice. */
const MAX_DEVICE_BYTES = 64 * 1024;

const tagOf = (field: number, framing: number): number => field * 8 + framing;
const DEVICE = tagOf(1, WIRE.BYTES);
const ID = tagOf(1, WIRE.BYTES);
const HEALTH = tagOf(2, WIRE.BYTES);
const TOPOLOGY = tagOf(3, WIRE.BYTES);
const NODE = tagOf(1, WIRE.BYTES);
const NODE_ID = tagOf(1, WIRE.VARINT);

const HEALTHY_BYTES = Buffer.from(HEALTHY);

/** One entry of a list: where its id and its health stand. Valid until the next one is read into it. */
export interface DeviceEntry {
  readonly idStart: number;
  readonly idEnd: number;
  readonly healthStart: number;
  readonly healthEnd: number;
  readonly isHealthy: boolean;
  /** Its NUMA nodes are the first `nodeCount`; the rest is left from entries before. */
  readonly nodes: readonly number[];
  readonly nodeCount: number;
}

/** Reads one message slice by slice; every problem is a WireError that says which device (counted from 1). */
export class DeviceWalk implements DeviceEntry {
  idStart = 0;
  idEnd = 0;
  healthStart = 0;
  healthEnd = 0;
  isHealthy = false;
  readonly nodes: number[] = [];
  nodeCount = 0;
  /** Whether the list was refused because it has too many devices. */
  isOverCap = false;
  readonly #bytes: Buffer;
  readonly #reader: Reader;
  readonly #maxDevices: number;
  readonly #take: (device: DeviceEntry) => void;
  #entries = 0;

  /**
   * @param maxDevices every entry counts, repeated ids too
   * @param take called with each entry that is valid, in their order
   */
  constructor(bytes: Buffer, maxDevices: number, take: (device: DeviceEntry) => void) {
    this.#bytes = bytes;
    this.#reader = new Reader(bytes);
    this.#maxDevices = maxDevices;
    this.#take = take;
  }

  /** Reads on for one slice; true when the message is read to its end. */
  readSlice(): boolean {
    const reader = this.#reader;
    const until = Math.min(reader.end, reader.pos + SLICE_BYTES);
    const last = this.#entries + SLICE_DEVICES;
    // Unknown fields are stepped over in no time: of two bytes each, they would make slices of nothing.
    while (this.#entries < last && reader.pos < until) {
      const tag = reader.tag('the list');
      if (tag === DEVICE) this.#readDevice();
      else reader.skip(tag, 'the list');
    }
    return reader.pos >= reader.end;
  }

  #readDevice(): void {
    this.#entries++;
    if (this.#entries > this.#maxDevices) {
      this.isOverCap = true;
      throw new WireError(`the list has more than ${this.#maxDevices} devices (admission.maxDevices)`);
    }
    try {
      this.#readFields();
    } catch (problem) {
      if (!(problem instanceof WireError)) throw problem;
      throw new WireError(`device ${this.#entries} of the list is invalid: ${problem.message}`);
    }
    this.#take(this);
  }

  #readFields(): void {
    const reader = this.#reader;
    const outer = reader.end;
    const end = reader.lengthEnd('the device');
    if (end - reader.pos > MAX_DEVICE_BYTES) {
      throw new WireError(`it takes ${end - reader.pos} bytes, more than ${MAX_DEVICE_BYTES}`);
    }
    this.idStart = this.idEnd = this.healthStart = this.healthEnd = this.nodeCount = 0;
    reader.end = end;
    while (reader.pos < end) {
      const tag = reader.tag('the device');
      if (tag === ID) this.#readId();
      else if (tag === HEALTH) this.#readHealth();
      else if (tag === TOPOLOGY) this.#readTopology();
      else reader.skip(tag, 'the device');
    }
    reader.end = outer;
    if (this.idStart === this.idEnd) throw new WireError('its id is empty');
    this.isHealthy = this.#isHealthy();
  }

  #readId(): void {
    const before = this.#reader.pos;
    this.idStart = this.#readText('its id');
    this.idEnd = this.#reader.pos;
    // The length prefix takes at most two bytes for an id of legal length.
    if (this.idEnd - before > MAX_ID_BYTES + 2) throw new WireError(`its id is longer than ${MAX_ID_BYTES} bytes`);
  }

  #readHealth(): void {
    this.healthStart = this.#readText('its health');
    this.healthEnd = this.#reader.pos;
  }

  #isHealthy(): boolean {
    if (this.healthEnd - this.healthStart !== HEALTHY_BYTES.length) return false;
    for (let index = 0; index < HEALTHY_BYTES.length; index++) {
      if (this.#bytes[this.healthStart + index] !== HEALTHY_BYTES[index]) return false;
    }
    return true;
  }

  /** Steps over text and returns where it starts; bytes that are not UTF-8 are refused. */
  #readText(where: string): number {
    const reader = this.#reader;
    const end = reader.lengthEnd(where);
    const start = reader.pos;
    if (!this.#isAscii(start, end) && !isUtf8(this.#bytes.subarray(start, end))) {
      throw new WireError(`${where} is not valid UTF-8`);
    }
    reader.pos = end;
    return start;
  }

  #isAscii(start: number, end: number): boolean {
    const bytes = this.#bytes;
    let all = 0;
    for (let at = start; at < end; at++) all |= bytes[at] as number;
    return all < 0x80;
  }

  #readTopology(): void {
    const reader = this.#reader;
    const outer = reader.end;
    reader.end = reader.lengthEnd('its topology');
    while (reader.pos < reader.end) {
      const tag = reader.tag('its topology');
      if (tag === NODE) this.nodes[this.nodeCount++] = this.#readNode();
      else reader.skip(tag, 'its topology');
    }
    reader.end = outer;
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
}
