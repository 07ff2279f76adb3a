// The checkpoint as bytes, both ways. Entries are immutable, so the bytes of each are made once and copied from
// generation to generation: a commit pays for the changed entries, and for copying the rest.
import { decodeCheckpoint, decodeEntry, decodeTombstone, type Decoded } from './decode.js';
import type { CheckpointDocument, LeaseEntry, PluginEntry, Tombstone, UnknownFields } from './document.js';
import { decodeLease, leaseText } from './lease-entry.js';
import { headOf, seal } from './envelope.js';
import { ENTRY_MEMBERS, FORMAT, TOMBSTONE_MEMBERS } from './format.js';
import { endsOfLines } from './lease-lines.js';
import { ListLines } from './list-lines.js';
import { Malformed, Members } from './members.js';
import { PrefixHash } from './prefix-hash.js';
import type { Codec } from './ports.js';

/** Ends every member. */
const NEXT = ',\n';
/** Of an entry that cannot be written, so many characters are shown: they hold its name. */
const SHOWN = 256;

/** Encodes documents; copies the parts that they share with the one before from its bytes. Decodes what anybody may have made. */
export class CheckpointCodec implements Codec<CheckpointDocument> {
  readonly #plugins = readable('plugins', (entry: PluginEntry) => objectText(entry, ENTRY_MEMBERS), decodeEntry);
  readonly #limits = new ListLines(JSON.stringify);
  readonly #tombstones = readable(
    'tombstones',
    (tombstone: Tombstone) => objectText(tombstone, TOMBSTONE_MEMBERS),
    decodeTombstone,
  );
  readonly #leases = readable('leases', leaseText, decodeLease);
  readonly #hash = new PrefixHash();
  #read: { readonly leases: readonly LeaseEntry[]; readonly lines: Buffer } | undefined;

  /**
   * One JSON object with `format` first, one plugin a line, and a checksum at the end. Strikes and quarantines are left out
   * where it would have more than `most` bytes with them: a restart is an amnesty then, and leases are still given.
   *
   * @throws Error when a start would refuse what would be written
   */
  encode(document: CheckpointDocument, most = Infinity): Buffer {
    const bytes = this.#encode(document);
    if (bytes.length <= most || document.limits.length === 0) return bytes;
    return this.#encode({ ...document, limits: [] });
  }

  #encode(document: CheckpointDocument): Buffer {
    const { generation, bootId, writtenAt, eventSeq, plugins, limits, tombstones, csi, ledger, leases, extra } =
      document;
    this.#takeRead();
    const pieces = new Pieces(FORMAT);
    pieces.members({ bootId });
    pieces.list('plugins', plugins, this.#plugins);
    pieces.list('limits', limits, this.#limits);
    pieces.list('tombstones', tombstones, this.#tombstones);
    pieces.members({ csi: Object.fromEntries(csi), ledger: { state: ledger } });
    pieces.list('leases', leases, this.#leases);
    // The members that each generation has anew come last: the hash of all before it is known from the generation before.
    pieces.members({ generation, writtenAt, eventSeq });
    pieces.add(Buffer.from([...extra].map(memberText).join('')));
    return pieces.sealed((bytes) => this.#hash.of(bytes));
  }

  decode(bytes: Buffer): Decoded<CheckpointDocument> {
    // The lines of leases that were read are written again as they are.
    return decodeCheckpoint(bytes, undefined, undefined, (leases, lines) => (this.#read = { leases, lines }));
  }

  /** Where each line stands is looked for when the next generation is made: a start need not wait for it. */
  #takeRead(): void {
    if (this.#read === undefined) return;
    const { leases, lines } = this.#read;
    this.#read = undefined;
    const ends = endsOfLines(lines, leases);
    if (ends !== undefined) this.#leases.placed(leases, ends, lines);
  }
}

/**
 * The lines of a list, each of which is read once before it is written: a start takes nothing of a document in which one entry is not
 * as the format says, so that such an entry must not get to the disk, wherever it comes from.
 */
function readable<T>(list: string, textOf: (item: T) => string, decode: (entry: Members) => T): ListLines<T> {
  const document = new Members({});
  return new ListLines((item) => {
    const text = textOf(item);
    try {
      decode(new Members(JSON.parse(text), document, list));
    } catch (failure) {
      if (!(failure instanceof Malformed)) throw failure;
      throw new Error(`a start could not read it: ${failure.message}, in ${text.slice(0, SHOWN)}`, { cause: failure });
    }
    return text;
  });
}

/** The pieces of one generation. */
class Pieces {
  readonly #format: number;
  readonly #all: Uint8Array[] = [];
  readonly #placed: ((bytes: Buffer) => void)[] = [];
  #length: number;

  constructor(format: number) {
    this.#format = format;
    this.#length = headOf(format).length;
  }

  add(...pieces: readonly Uint8Array[]): void {
    for (const piece of pieces) {
      this.#all.push(piece);
      this.#length += piece.length;
    }
  }

  members(values: object): void {
    this.add(Buffer.from(Object.entries(values).map(memberText).join('')));
  }

  list<T>(name: string, items: readonly T[], lines: ListLines<T>): void {
    if (items.length === 0) return this.members({ [name]: [] });
    this.add(Buffer.from(`${JSON.stringify(name)}:[\n`));
    const start = this.#length;
    const { pieces, ends } = lines.pieces(items);
    this.add(...pieces, Buffer.from(`\n]${NEXT}`));
    this.#placed.push((bytes) => lines.placed(items, ends, bytes.subarray(start)));
    return undefined;
  }

  sealed(hashOf: (bytes: Buffer) => string): Buffer {
    const bytes = seal(this.#format, this.#all, hashOf);
    for (const placed of this.#placed) placed(bytes);
    return bytes;
  }
}

function memberText([name, value]: readonly [string, unknown]): string {
  return `${JSON.stringify(name)}:${JSON.stringify(value)}${NEXT}`;
}

/** The members of `part` in the order of the format, then those of newer versions; fromEntries takes any name. */
function objectText<T extends { readonly extra?: UnknownFields }>(
  part: T,
  names: readonly (keyof T & string)[],
): string {
  const members: Record<string, unknown> = {};
  for (const name of names) members[name] = part[name];
  const { extra } = part;
  return JSON.stringify(extra === undefined ? members : Object.fromEntries([...Object.entries(members), ...extra]));
}
