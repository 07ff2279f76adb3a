// Leases in the bytes of a checkpoint, one a line as this version writes them. Most of a checkpoint can be leases: understood
// one by one, what is parsed of one is gone before the next, and its line need not be made again for the next generation.

/** They stand by themselves at the start of a line; within texts a line feed is written as an escape. */
const BEFORE = Buffer.from('\n"leases":[\n');
const AFTER = Buffer.from('\n],\n');
const LINE_FEED = 0x0a;
/** Ends every line but the last. */
const NEXT = Buffer.from(',\n');

/** A document without its leases, and they. */
export interface LeaseLines {
  /** The JSON of the document with an empty list in their place. */
  readonly around: string;
  /** The line of each, as the encoder has them: with a comma and a line feed. */
  readonly lines: readonly Buffer[];
}

/** Cuts the leases out; undefined where they do not stand so, and the document is to be parsed as a whole. */
export function cutLeases(bytes: Buffer): LeaseLines | undefined {
  const before = bytes.indexOf(BEFORE);
  const begin = before + BEFORE.length;
  if (before === -1 || bytes.indexOf(BEFORE, begin) !== -1) return undefined;
  const end = bytes.indexOf(AFTER, begin);
  if (end === -1) return undefined;
  const lines: Buffer[] = [];
  for (let at = begin; at < end;) {
    const feed = bytes.indexOf(LINE_FEED, at);
    lines.push(feed === end ? Buffer.concat([bytes.subarray(at, end), NEXT]) : bytes.subarray(at, feed + 1));
    at = feed + 1;
  }
  const text = (from: number, to: number): string => bytes.toString('utf8', from, to);
  return { around: text(0, begin) + text(end, bytes.length), lines };
}

/** @throws SyntaxError when it is none */
export function parseLine(line: Buffer): unknown {
  return JSON.parse(line.toString('utf8', 0, line.length - NEXT.length));
}
