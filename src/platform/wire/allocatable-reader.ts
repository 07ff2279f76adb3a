// Reads of an answer to GetAllocatableResources which resources it has, slice by slice: a kubelet names each device of the node in
// an entry of its own, so that a plugin with a long list makes it some MiB long.
import { Reader, WIRE } from './reader.js';

/** Entries of one slice: below a millisecond. */
const SLICE_ENTRIES = 2048;
const SLICE_BYTES = 256 * 1024;

const ANSWER = 'AllocatableResourcesResponse';
const ENTRY = 'ContainerDevices';
/** `devices` of the answer, `resource_name` and `device_ids` of an entry. */
const [DEVICES, NAME, IDS] = [1, 1, 2].map((field) => field * 8 + WIRE.BYTES);

/** Reads one answer. */
export class AllocatableReader {
  /** Resources that were read and have a device. */
  readonly resources: ReadonlySet<string>;
  readonly #resources = new Set<string>();
  readonly #reader: Reader;

  constructor(bytes: Buffer) {
    this.#reader = new Reader(bytes);
    this.resources = this.#resources;
  }

  /** Reads on for one slice; true when the answer is read to its end. @throws WireError */
  readSlice(): boolean {
    const reader = this.#reader;
    const until = Math.min(reader.end, reader.pos + SLICE_BYTES);
    for (let entries = 0; entries < SLICE_ENTRIES && reader.pos < until; entries++) {
      const tag = reader.tag(ANSWER);
      if (tag === DEVICES) this.#readEntry();
      else reader.skip(tag, ANSWER);
    }
    return reader.pos >= reader.end;
  }

  #readEntry(): void {
    const reader = this.#reader;
    const outer = reader.end;
    const end = reader.lengthEnd(ENTRY);
    reader.end = end;
    let name = '';
    let hasDevice = false;
    // The rest of an entry says nothing more: one may name all devices of its resource.
    while (reader.pos < end && (name === '' || !hasDevice)) {
      const tag = reader.tag(ENTRY);
      if (tag === NAME) name = reader.text(ENTRY);
      else {
        hasDevice ||= tag === IDS;
        reader.skip(tag, ENTRY);
      }
    }
    reader.pos = end;
    reader.end = outer;
    if (hasDevice) this.#resources.add(name);
  }
}
