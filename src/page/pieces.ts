// Texts as bytes, in pieces. A piece that did not change is the same object as before, so that packing and comparing happen once.
import { Buffer } from 'node:buffer';

/** Texts of a piece: some tens of kilobytes of rows, which are encoded, and packed, in a fraction of a millisecond. */
const TEXTS = 64;

interface Piece {
  readonly texts: readonly string[];
  readonly bytes: Buffer;
}

/** Remembers the pieces of each list as it was last. */
export class Pieces {
  readonly #rest: () => Promise<void> | undefined;
  readonly #last = new Map<string, readonly Piece[]>();

  /** @param rest called at each step: undefined, or a promise to wait for so that others have their turn */
  constructor(rest: () => Promise<void> | undefined) {
    this.#rest = rest;
  }

  /** Remembers nothing. */
  clear(): void {
    this.#last.clear();
  }

  /** The texts of a list with commas between them. */
  async of(list: string, texts: readonly string[]): Promise<Buffer[]> {
    const last = this.#last.get(list) ?? [];
    const now: Piece[] = [];
    for (let at = 0; at < texts.length; at += TEXTS) {
      const wanted = texts.slice(at, at + TEXTS);
      const known = last[now.length];
      const isSame = known?.texts.length === wanted.length && wanted.every((text, nth) => text === known.texts[nth]);
      if (isSame) now.push(known);
      else now.push({ texts: wanted, bytes: Buffer.from(`${at === 0 ? '' : ','}${wanted.join(',')}`) });
      const others = this.#rest();
      if (others !== undefined) await others;
    }
    this.#last.set(list, now);
    return now.map(({ bytes }) => bytes);
  }
}
