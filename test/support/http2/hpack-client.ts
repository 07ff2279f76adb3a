import type { Random } from '../../../src/kernel/random.js';
import { HeaderField, STATIC_FIELDS } from '../../../src/platform/http2/hpack-field.js';
import { HpackTable } from '../../../src/platform/http2/hpack-table.js';
import { indexed, literal, sizeUpdate, type Indexing } from './hpack-writer.js';

/** A pair of name and value. */
export type Pair = readonly [name: string, value: string];

/** An encoder as a client has one, that takes every liberty the RFC gives it: repeatable, by a seeded Random. */
export class HpackClient {
  readonly #random: Random;
  readonly #table = new HpackTable(4096);
  #limit = 4096;
  /** The smallest limit since the last block: it has to be said first (RFC 7541 4.2). */
  #smallest = 4096;

  constructor(random: Random) {
    this.#random = random;
  }

  /** The server's limit for the table, once it is acknowledged. */
  limitTable(bytes: number): void {
    this.#limit = bytes;
    this.#smallest = Math.min(this.#smallest, bytes);
  }

  /** One header block. */
  block(fields: readonly Pair[]): Buffer {
    const parts: Buffer[] = [];
    if (this.#table.capacity > this.#smallest || this.#chance(0.05)) {
      for (const most of this.#chance(0.3) ? [this.#smallest, this.#limit] : [this.#smallest]) {
        const capacity = Math.floor(this.#random.next() * (most + 1));
        this.#table.resize(capacity);
        parts.push(sizeUpdate(capacity));
      }
    }
    this.#smallest = this.#limit;
    for (const [name, value] of fields) parts.push(this.#field(name, value));
    return Buffer.concat(parts);
  }

  #field(name: string, value: string): Buffer {
    const known = [...STATIC_FIELDS, ...this.#table.entries];
    const same = known.findIndex((field) => field.name === name && field.value === value);
    if (same >= 0 && this.#chance(0.9)) return indexed(same + 1);
    const named = known.findIndex((field) => field.name === name);
    const indexing: Indexing = this.#chance(0.7) ? 'incremental' : this.#chance(0.7) ? 'none' : 'never';
    const octets = literal(named >= 0 && this.#chance(0.8) ? named + 1 : name, value, indexing, this.#chance(0.5));
    if (indexing === 'incremental') this.#table.add(new HeaderField(name, value));
    return octets;
  }

  #chance(probability: number): boolean {
    return this.#random.next() < probability;
  }
}
