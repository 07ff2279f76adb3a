// Leases in the bytes of a checkpoint, one a line as this version writes them. Most of a checkpoint can be leases: their
// lines need not be made again for the next generation.

/** They stand by themselves at the start of a line; within texts a line feed is written as an escape. */
const BEFORE = Buffer.from('\n"leases":[\n');
const AFTER = Buffer.from('\n],\n');
const LINE_FEED = 0x0a;
const COMMA = 0x2c;
/**
 * Bytes parsed at once: few, so that the texts and objects of a line that are replaced when it is taken are gone before a collection
 * of young objects copies them.
 */
const AT_ONCE = 24 * 1024;

/** A document without its leases, and they. */
export interface LeaseLines {
  /** The JSON of the document with an empty list in their place. */
  readonly around: string;
  /** The bytes from the first line to the last. */
  readonly lines: Buffer;
}

/** Cuts the leases out; undefined where they do not stand so, and the document is to be parsed as a whole. */
export function cutLeases(bytes: Buffer): LeaseLines | undefined {
  const before = bytes.indexOf(BEFORE);
  const start = before + BEFORE.length;
  if (before === -1 || bytes.indexOf(BEFORE, start) !== -1) return undefined;
  const end = bytes.indexOf(AFTER, start);
  if (end === -1) return undefined;
  const text = (from: number, to: number): string => bytes.toString('utf8', from, to);
  return {
    around: text(0, start) + text(end, bytes.length),
    lines: bytes.subarray(start, end),
  };
}

/**
 * Parses the leases, many lines at once. Those before are to be taken by then, so that they are garbage, which nobody copies.
 *
 * @throws SyntaxError when a line is not one lease or several
 */
export function* parseLines(lines: Buffer): Generator {
  for (let from = 0; from < lines.length;) {
    const feed = lines.indexOf(LINE_FEED, from + AT_ONCE);
    const end = feed === -1 ? lines.length : feed - 1;
    yield* JSON.parse(`[${lines.toString('utf8', from, end)}]`) as unknown[];
    from = feed === -1 ? lines.length : feed + 1;
  }
}

/** Where the line of each lease ends, without the comma behind it; undefined where not each has one of its own. */
export function endsOfLines(lines: Buffer, leases: readonly { readonly id: string }[]): readonly number[] | undefined {
  const ends: number[] = [];
  let from = 0;
  for (const { id } of leases) {
    const head = `{"id":"${id}",`;
    if (lines.toString('latin1', from, from + head.length) !== head) return undefined;
    const feed = lines.indexOf(LINE_FEED, from);
    if (feed !== -1 && lines[feed - 1] !== COMMA) return undefined;
    ends.push(feed === -1 ? lines.length : feed - 1);
    from = feed === -1 ? lines.length : feed + 1;
  }
  return from === lines.length ? ends : undefined;
}
