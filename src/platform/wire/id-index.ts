// Which ids of a device list were met before: hash tables over the bytes of the list, so that no id has to become text.
import { randomFillSync } from 'node:crypto';

/** Longest id that can be indexed, in bytes. */
export const MAX_ID_BYTES = 256;
/** The result of `put` for an id that is new. */
export const NEW = -1;
/** The notes of an id: whether its last entry is healthy, and whether it has more entries than one. */
export const NOTES = { HEALTHY: 1, REPEATED: 2 } as const;

/** Several small tables, because growing one of hundreds of thousands of ids takes too long at once. A power of two. */
const TABLES = 32;
/** Slots of a new table at least; a power of two. So few lie inside the heap, which makes short lists cheap. */
const LEAST_SLOTS = 8;
/** Slots of a new table at most: all tables are made within the first slice of a list, and clearing memory takes time. */
const MOST_SLOTS = 1024;
/** Entries are seldom shorter, so that tables seldom grow. */
const USUAL_ENTRY_BYTES = 24;

// A slot is two words. The first, its mark, tells nearly all ids apart: 22 bits of hash, 2 of notes, and 8 of the length
// less one. The second is where the id starts in the list; 0 is a free slot, as no id starts where its list does.
const HASH_BITS = 0xffff_fc00;
const NOTES_AT = 8;
const NOTES_BITS = 0x300;
const TABLE_AT = 10;

/**
 * Numbers that nobody outside can know, for any number of indexes. With them the hash is a multilinear one, universal in
 * its upper bits: two ids collide by chance alone (Dietzfelbinger 1996), so no plugin can make up a list that is slow to
 * index.
 */
export function randomKeys(): Int32Array {
  return randomFillSync(new Int32Array(1 + MAX_ID_BYTES));
}

/** The ids of one list by their bytes. Tables are at most half full and are made when they get their first id. */
export class IdIndex {
  readonly #bytes: Uint8Array;
  readonly #keys: Int32Array;
  readonly #tables = new Array<Uint32Array | undefined>(TABLES).fill(undefined);
  readonly #sizes = new Array<number>(TABLES).fill(0);
  readonly #firstSlots: number;
  #size = 0;

  /**
   * @param bytes the list; ids are looked up in it for as long as the index lives
   * @param maxIds how many there can be, for the room that is taken at first
   * @param keys of the hash, from randomKeys
   */
  constructor(bytes: Uint8Array, maxIds: number, keys: Int32Array) {
    this.#bytes = bytes;
    this.#keys = keys;
    const perTable = Math.min(maxIds, bytes.length / USUAL_ENTRY_BYTES) / TABLES;
    this.#firstSlots = Math.min(MOST_SLOTS, Math.max(LEAST_SLOTS, 2 ** Math.ceil(Math.log2(1 + 2 * perTable))));
  }

  /** How many different ids there are. */
  get size(): number {
    return this.#size;
  }

  /**
   * Puts the id at the bytes from `start` to before `end`, of 1 to MAX_ID_BYTES.
   *
   * @returns NEW, or the NOTES of the entries before
   */
  put(start: number, end: number, isHealthy: boolean): number {
    const mark = this.#mark(start, end);
    const which = (mark >>> TABLE_AT) & (TABLES - 1);
    const table = (this.#tables[which] ??= new Uint32Array(2 * this.#firstSlots));
    const slot = this.#find(table, mark, start, end);
    const health = isHealthy ? NOTES.HEALTHY : 0;
    if (table[slot + 1] === 0) {
      table[slot] = mark | (health << NOTES_AT);
      table[slot + 1] = start;
      this.#count(which, table);
      return NEW;
    }
    const before = ((table[slot] as number) & NOTES_BITS) >>> NOTES_AT;
    table[slot] = mark | ((health | NOTES.REPEATED) << NOTES_AT);
    return before;
  }

  /** The mark without notes. Bytes count from 1, so that ids that differ in zeros at their end differ in their hash. */
  #mark(start: number, end: number): number {
    const bytes = this.#bytes;
    const keys = this.#keys;
    let sum = keys[0] as number;
    for (let at = start, key = 1; at < end; at++, key++) {
      sum = (sum + Math.imul(keys[key] as number, (bytes[at] as number) + 1)) | 0;
    }
    return (sum & HASH_BITS) | (end - start - 1);
  }

  /** The slot of an id, or the free one that it is to take. */
  #find(table: Uint32Array, mark: number, start: number, end: number): number {
    let slot = home(table, mark);
    for (let step = 2; ; step += 2) {
      const other = table[slot + 1] as number;
      if (other === 0) return slot;
      if ((((table[slot] as number) ^ mark) & ~NOTES_BITS) === 0 && this.#isSame(other, start, end)) return slot;
      slot = next(table, slot, step);
    }
  }

  #isSame(other: number, start: number, end: number): boolean {
    const bytes = this.#bytes;
    for (let at = start, against = other; at < end; at++, against++) {
      if (bytes[at] !== bytes[against]) return false;
    }
    return true;
  }

  /** Tables fill up alike, so each has its own limit, from three eighths to a half: else all would grow at once. */
  #count(which: number, table: Uint32Array): void {
    this.#size++;
    const size = (this.#sizes[which] as number) + 1;
    this.#sizes[which] = size;
    if (size > table.length * (1 / 4 - which / (16 * TABLES))) this.#tables[which] = grown(table);
  }
}

/** The slot where the search for a mark begins: from the upper bits of the hash, the best ones. */
function home(table: Uint32Array, mark: number): number {
  return (mark >>> Math.clz32(table.length - 1)) & ~1;
}

/** The slot after `slot`. Steps of 2, 4, 6 … meet all slots of a table, and ids of one neighbourhood soon part. */
function next(table: Uint32Array, slot: number, step: number): number {
  return (slot + step) & (table.length - 1);
}

function grown(table: Uint32Array): Uint32Array {
  const larger = new Uint32Array(2 * table.length);
  for (let from = 0; from < table.length; from += 2) {
    const start = table[from + 1] as number;
    if (start === 0) continue;
    const mark = table[from] as number;
    let slot = home(larger, mark & ~NOTES_BITS);
    for (let step = 2; larger[slot + 1] !== 0; step += 2) slot = next(larger, slot, step);
    larger[slot] = mark;
    larger[slot + 1] = start;
  }
  return larger;
}
