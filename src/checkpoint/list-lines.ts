// A list of the checkpoint as lines, one an item. Items are immutable and keep their order, so the lines of unchanged items are
// copied from the generation before, run by run: a commit makes the lines of changed items, and copies the rest in few pieces.

/** Stands between two lines. */
const BETWEEN = Buffer.from(',\n');

/** One list, and where its lines stand in the newest bytes. */
export class ListLines<T> {
  readonly #textOf: (item: T) => string;
  #items: readonly T[] = [];
  /** Where each line ends in `#bytes`; the next one begins behind `BETWEEN`. */
  #ends: readonly number[] = [];
  #bytes: Uint8Array = new Uint8Array(0);

  /** @param textOf one line without a line feed in it */
  constructor(textOf: (item: T) => string) {
    this.#textOf = textOf;
  }

  /**
   * The lines of all items, in pieces, and where each ends. The caller that joins the pieces says with {@link placed} where they
   * are.
   *
   * @param items in the order of the list before, as far as they were in it; others are fine and cost their making
   */
  pieces(items: readonly T[]): { readonly pieces: readonly Uint8Array[]; readonly ends: readonly number[] } {
    const pieces: Uint8Array[] = [];
    const ends: number[] = [];
    let length = 0;
    let old = 0;
    for (let at = 0; at < items.length;) {
      if (at > 0) {
        pieces.push(BETWEEN);
        length += BETWEEN.length;
      }
      const item = items[at] as T;
      const known = this.#items[old] === item ? old : this.#items.indexOf(item, old);
      if (known === -1) {
        const line = Buffer.from(this.#textOf(item));
        pieces.push(line);
        ends.push((length += line.length));
        at += 1;
        continue;
      }
      const from = this.#startOf(known);
      const shift = length - from;
      for (old = known; at < items.length && items[at] === this.#items[old]; at += 1, old += 1) {
        ends.push((this.#ends[old] ?? 0) + shift);
      }
      const to = this.#ends[old - 1] ?? from;
      pieces.push(this.#bytes.subarray(from, to));
      length += to - from;
    }
    return { pieces, ends };
  }

  /**
   * These items stand in `bytes` now, from the first one on, and nobody changes them.
   *
   * @param ends where each line ends
   */
  placed(items: readonly T[], ends: readonly number[], bytes: Uint8Array): void {
    this.#items = items;
    this.#ends = ends;
    this.#bytes = bytes;
  }

  #startOf(at: number): number {
    return at === 0 ? 0 : (this.#ends[at - 1] ?? 0) + BETWEEN.length;
  }
}
