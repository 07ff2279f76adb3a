// From a document to the bytes of a checkpoint. Entries are immutable, so the bytes of each are made once and kept with
// it: a commit pays for what changed, and for copying the rest.
import type { CheckpointDocument, LeaseEntry, PluginEntry, Tombstone, UnknownFields } from './document.js';
import { leaseText } from './lease-entry.js';
import { seal } from './envelope.js';
import { ENTRY_MEMBERS, FORMAT, TOMBSTONE_MEMBERS } from './format.js';

/** Ends every item of a list but the last. */
const NEXT = ',\n';

/** Encodes documents; remembers the bytes of parts it has seen for as long as the parts live. */
export class CheckpointEncoder {
  readonly #known = new WeakMap<object, Buffer>();

  /** One JSON object with `format` first, one plugin a line, and a checksum at the end. */
  encode(document: CheckpointDocument): Buffer {
    const { generation, bootId, writtenAt, eventSeq, plugins, limits, tombstones, csi, ledger, leases, extra } =
      document;
    return seal(FORMAT, [
      Buffer.from(Object.entries({ generation, bootId, writtenAt, eventSeq }).map(memberText).join('')),
      ...this.#list('plugins', plugins, entryText),
      ...this.#list('limits', limits, JSON.stringify),
      ...this.#list('tombstones', tombstones, tombstoneText),
      Buffer.from(
        Object.entries({ csi: Object.fromEntries(csi), ledger: { state: ledger } })
          .map(memberText)
          .join(''),
      ),
      ...this.#list('leases', leases, leaseText),
      Buffer.from([...extra].map(memberText).join('')),
    ]);
  }

  /** Takes the line of a lease that was read: whoever writes it again writes that. */
  keep(lease: LeaseEntry, line: Buffer): void {
    this.#known.set(lease, line);
  }

  #list<T>(name: string, items: readonly T[], textOf: (item: T) => string): Buffer[] {
    if (items.length === 0) return [Buffer.from(memberText([name, []]))];
    const lines = items.map((item) => this.#line(item, textOf));
    const last = lines.pop() ?? Buffer.alloc(0);
    return [
      Buffer.from(`${JSON.stringify(name)}:[\n`),
      ...lines,
      last.subarray(0, last.length - NEXT.length),
      Buffer.from(`\n]${NEXT}`),
    ];
  }

  #line<T>(item: T, textOf: (item: T) => string): Buffer {
    const isObject = typeof item === 'object' && item !== null;
    const known = isObject ? this.#known.get(item) : undefined;
    if (known !== undefined) return known;
    const line = Buffer.from(textOf(item) + NEXT);
    if (isObject) this.#known.set(item, line);
    return line;
  }
}

function memberText([name, value]: readonly [string, unknown]): string {
  return `${JSON.stringify(name)}:${JSON.stringify(value)}${NEXT}`;
}

function entryText(entry: PluginEntry): string {
  return objectText(entry, ENTRY_MEMBERS, entry.extra);
}

function tombstoneText(tombstone: Tombstone): string {
  return objectText(tombstone, TOMBSTONE_MEMBERS, tombstone.extra);
}

/** The members of `part` in the order of the format, then those of newer versions; fromEntries takes any name. */
function objectText<T extends object>(part: T, names: readonly (keyof T & string)[], extra?: UnknownFields): string {
  const members: Record<string, unknown> = {};
  for (const name of names) members[name] = part[name];
  return JSON.stringify(extra === undefined ? members : Object.fromEntries([...Object.entries(members), ...extra]));
}
