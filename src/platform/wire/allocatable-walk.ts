// Cuts an answer to GetAllocatableResources into parts, slice by slice and without making anything for each device: kubelets name
// each device of a node in an entry of its own, so that a plugin with a long list makes it some MiB long.
import { isUtf8 } from 'node:buffer';
import type { AllocatablePart } from '../../podresources/ports.js';
import { AllocatableResourcesResponse } from '../../generated/proto/podresources/v1/podresources.js';
import { Reader, WIRE } from './reader.js';
import { WireError } from './wire-error.js';
import { Writer } from './writer.js';

/** The longest part, and the longest field that is none of devices. */
export const MAX_PART_BYTES = 64 * 1024;
/** Ids of one part of an entry that is longer: the rest of that entry has to fit beside them. */
const MAX_IDS_BYTES = MAX_PART_BYTES / 2;
/** The name and the place of an entry that is longer. */
const MAX_REST_BYTES = MAX_PART_BYTES / 4;
/** Kubelets name the devices of one resource after the other: 16 MiB have some hundred parts. */
const MOST_PARTS = 16_384;
/** Work of one slice, in bytes; each field costs as much as some bytes. Below a millisecond. */
const SLICE_WORK = 192 * 1024;
const FIELD_WORK = 48;

const ANSWER = 'AllocatableResourcesResponse';
const ENTRY = 'ContainerDevices';
const PLACE = 'TopologyInfo';
const NODE = 'NUMANode';

const DEVICES_FIELD = 1;
const tagOf = (field: number, framing: number): number => field * 8 + framing;
const DEVICES = tagOf(DEVICES_FIELD, WIRE.BYTES);
const NAME = tagOf(1, WIRE.BYTES);
const IDS = tagOf(2, WIRE.BYTES);
const TOPOLOGY = tagOf(3, WIRE.BYTES);
const NODES = tagOf(1, WIRE.BYTES);
const NODE_ID = tagOf(1, WIRE.VARINT);
/** Fields of the answer that are known and no devices: processors and memory. */
const OTHERS: ReadonlySet<number> = new Set([2, 3]);

/** Reads one answer; every problem is a WireError. */
export class AllocatableWalk {
  readonly #bytes: Buffer;
  readonly #reader: Reader;
  readonly #parts: AllocatablePart[] = [];
  readonly #steps: Iterator<undefined, void>;
  /** The part that further entries may be added to. */
  #open = { resource: '', from: 0, to: 0, hasIds: false };
  /** Where the name of the last entry stands: the next one mostly has the same. */
  #name = { text: '', from: 0, to: 0 };
  #hasIds = false;
  #work = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#reader = new Reader(bytes);
    this.#steps = this.#walk();
  }

  /** The parts, in the order of the answer; all of them once it is read to its end. */
  get parts(): readonly AllocatablePart[] {
    return this.#parts;
  }

  /** Reads on for one slice; true when the answer is read to its end. @throws WireError */
  readSlice(): boolean {
    this.#work = 0;
    return this.#steps.next().done === true;
  }

  *#walk(): Generator<undefined, void> {
    const reader = this.#reader;
    while (reader.pos < reader.end) {
      const from = reader.pos;
      const tag = reader.tag(ANSWER);
      if (tag !== DEVICES) this.#readOther(tag, from);
      else if (this.#lengthAhead() <= MAX_PART_BYTES - 16) this.#readEntry(from);
      else yield* this.#readLongEntry();
      if (this.#isSliceOver(reader.pos - from)) yield;
    }
    this.#close();
  }

  #isSliceOver(bytes: number): boolean {
    this.#work += bytes + FIELD_WORK;
    if (this.#work < SLICE_WORK) return false;
    this.#work = 0;
    return true;
  }

  #lengthAhead(): number {
    const before = this.#reader.pos;
    const end = this.#reader.lengthEnd(ENTRY);
    const length = end - this.#reader.pos;
    this.#reader.pos = before;
    return length;
  }

  /** Processors, memory, and what newer kubelets may say: handed on as it is. */
  #readOther(tag: number, from: number): void {
    const reader = this.#reader;
    reader.skip(tag, ANSWER);
    const field = this.#bytes.subarray(from, reader.pos);
    if (field.length > MAX_PART_BYTES) {
      throw new WireError(`${ANSWER} has a field ${String(tag >>> 3)} of ${String(field.length)} bytes`);
    }
    if (OTHERS.has(tag >>> 3)) AllocatableResourcesResponse.decode(field);
    this.#add('', from, false);
  }

  #readEntry(from: number): void {
    let resource = '';
    this.#hasIds = false;
    this.#within(ENTRY, (tag) => {
      if (tag === NAME) resource = this.#readName();
      else this.#readRest(tag);
    });
    this.#add(resource, from, this.#hasIds);
  }

  /** An entry that has many ids becomes several that have some of them each. */
  *#readLongEntry(): Generator<undefined, void> {
    this.#close();
    const reader = this.#reader;
    const outer = reader.end;
    reader.end = reader.lengthEnd(ENTRY);
    let resource = '';
    const rest: Buffer[] = [];
    let restBytes = 0;
    const runs: { from: number; to: number }[] = [];
    while (reader.pos < reader.end) {
      const from = reader.pos;
      const tag = reader.tag(ENTRY);
      if (tag === NAME) resource = this.#readName();
      else this.#readRest(tag);
      const bytes = reader.pos - from;
      const last = runs.at(-1);
      if (tag !== IDS) {
        restBytes += bytes;
        if (restBytes > MAX_REST_BYTES)
          throw new WireError(`${ENTRY} has more than ${String(MAX_REST_BYTES)} bytes beside ids`);
        rest.push(this.#bytes.subarray(from, reader.pos));
      } else if (bytes > MAX_IDS_BYTES)
        throw new WireError(`${ENTRY} has an id of more than ${String(MAX_IDS_BYTES)} bytes`);
      else if (last?.to === from && reader.pos - last.from <= MAX_IDS_BYTES) last.to = reader.pos;
      else this.#bound(runs.push({ from, to: reader.pos }));
      if (this.#isSliceOver(bytes)) yield;
    }
    reader.end = outer;
    for (const { from, to } of runs) {
      this.#push({ resource, bytes: entryOf([...rest, this.#bytes.subarray(from, to)]), hasIds: true });
      if (this.#isSliceOver(to - from + restBytes)) yield;
    }
    this.#open = { resource: '', from: reader.pos, to: reader.pos, hasIds: false };
  }

  #readRest(tag: number): void {
    if (tag === IDS) {
      this.#skipText();
      this.#hasIds = true;
    } else if (tag !== TOPOLOGY) this.#reader.skip(tag, ENTRY);
    else {
      this.#within(PLACE, (node) => {
        if (node !== NODES) this.#reader.skip(node, PLACE);
        else
          this.#within(NODE, (id) => {
            if (id === NODE_ID) this.#reader.int64(NODE);
            else this.#reader.skip(id, NODE);
          });
      });
    }
  }

  /** Reads the fields of the message that comes next. */
  #within(where: string, take: (tag: number) => void): void {
    const reader = this.#reader;
    const outer = reader.end;
    reader.end = reader.lengthEnd(where);
    while (reader.pos < reader.end) {
      this.#work += FIELD_WORK;
      take(reader.tag(where));
    }
    reader.end = outer;
  }

  #readName(): string {
    const reader = this.#reader;
    const { text, from, to } = this.#name;
    const before = reader.pos;
    const end = reader.lengthEnd(ENTRY);
    if (end - reader.pos === to - from && this.#bytes.compare(this.#bytes, from, to, reader.pos, end) === 0) {
      reader.pos = end;
      return text;
    }
    const start = reader.pos;
    reader.pos = before;
    this.#name = { text: reader.text(ENTRY), from: start, to: end };
    return this.#name.text;
  }

  /** Steps over text; bytes that are not UTF-8 would have clients refuse the whole answer, with what others have in it. */
  #skipText(): void {
    const reader = this.#reader;
    const end = reader.lengthEnd(ENTRY);
    let all = 0;
    for (let at = reader.pos; at < end; at++) all |= this.#bytes[at] as number;
    if (all >= 0x80 && !isUtf8(this.#bytes.subarray(reader.pos, end))) {
      throw new WireError(`${ENTRY} has an id that is not valid UTF-8`);
    }
    reader.pos = end;
  }

  /** Adds what was read since `from`. */
  #add(resource: string, from: number, hasIds: boolean): void {
    const to = this.#reader.pos;
    const open = this.#open;
    if (open.to === from && open.resource === resource && to - open.from <= MAX_PART_BYTES) {
      open.to = to;
      open.hasIds ||= hasIds;
      return;
    }
    this.#close();
    this.#open = { resource, from, to, hasIds };
  }

  #close(): void {
    const { resource, from, to, hasIds } = this.#open;
    if (to > from) this.#push({ resource, bytes: this.#bytes.subarray(from, to), hasIds });
    this.#open = { resource: '', from: to, to, hasIds: false };
  }

  #push(part: AllocatablePart): void {
    this.#bound(this.#parts.push(part));
  }

  #bound(count: number): void {
    if (count > MOST_PARTS)
      throw new WireError(`${ANSWER} goes from one resource to another ${String(MOST_PARTS)} times`);
  }
}

/** An answer with one entry, of fields as they came. */
function entryOf(fields: readonly Buffer[]): Buffer {
  const writer = new Writer();
  writer.bytes(Buffer.concat(fields));
  writer.tag(DEVICES_FIELD, WIRE.BYTES);
  return writer.finish();
}
