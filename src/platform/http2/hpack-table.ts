import { malformed } from './fault.js';
import { STATIC_FIELDS, type HeaderField } from './hpack-field.js';

/** The dynamic table of RFC 7541 2.3.2: newest first, bounded in octets, oldest evicted. */
export class HpackTable {
  /** Oldest first: the newest is at the end. */
  readonly #entries: HeaderField[] = [];
  #size = 0;
  #capacity: number;

  /** @param capacity octets it may hold (RFC 7541 4.1) */
  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Octets it may hold. */
  get capacity(): number {
    return this.#capacity;
  }

  /** Octets it holds. */
  get size(): number {
    return this.#size;
  }

  /** The fields it holds, newest first. */
  get entries(): readonly HeaderField[] {
    return this.#entries.toReversed();
  }

  /** Changes the capacity, evicting entries that no longer fit (RFC 7541 4.3). */
  resize(capacity: number): void {
    this.#capacity = capacity;
    this.#evict(capacity);
  }

  /** Adds a field; one that is larger than the table empties it, which is no error (RFC 7541 4.4). */
  add(field: HeaderField): void {
    const { size } = field;
    this.#evict(this.#capacity - size);
    if (size > this.#capacity) return;
    this.#entries.push(field);
    this.#size += size;
  }

  /**
   * The field of an index over both tables, from 1 (RFC 7541 2.3.3).
   *
   * @throws PeerFault PROTOCOL when there is none
   */
  at(index: number): HeaderField {
    const field =
      index <= STATIC_FIELDS.length
        ? STATIC_FIELDS[index - 1]
        : this.#entries[this.#entries.length - (index - STATIC_FIELDS.length)];
    if (field === undefined) throw malformed(`header index ${index} is in no table`);
    return field;
  }

  #evict(until: number): void {
    while (this.#size > Math.max(0, until)) {
      const oldest = this.#entries.shift();
      if (oldest === undefined) return;
      this.#size -= oldest.size;
    }
  }
}
