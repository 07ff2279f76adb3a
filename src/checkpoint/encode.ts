// From a document to the bytes of a checkpoint. Entries are immutable, so the text of each is made once and kept with it:
// a commit pays for what changed, not for what there is.
import type { CheckpointDocument, PluginEntry, Tombstone, UnknownFields } from './document.js';
import { seal } from './envelope.js';
import { ENTRY_MEMBERS, FORMAT, TOMBSTONE_MEMBERS } from './format.js';

/** Encodes documents; remembers the text of parts it has seen for as long as the parts live. */
export class CheckpointEncoder {
  readonly #texts = new WeakMap<object, string>();

  /** One JSON object with `format` first, one plugin a line, and a checksum at the end. */
  encode(document: CheckpointDocument): Buffer {
    const members = [
      member('generation', JSON.stringify(document.generation)),
      member('bootId', JSON.stringify(document.bootId)),
      member('writtenAt', JSON.stringify(document.writtenAt)),
      member('eventSeq', JSON.stringify(document.eventSeq)),
      member('plugins', lines(document.plugins.map((entry) => this.#text(entry, entryText)))),
      member(
        'limits',
        this.#text(document.limits, (limits) => lines(limits.map((limit) => JSON.stringify(limit)))),
      ),
      member('tombstones', lines(document.tombstones.map((tombstone) => this.#text(tombstone, tombstoneText)))),
      member('csi', JSON.stringify(Object.fromEntries(document.csi))),
    ];
    for (const [name, value] of document.extra) members.push(member(name, JSON.stringify(value)));
    return seal(FORMAT, members.join(''));
  }

  #text<T extends object>(part: T, make: (part: T) => string): string {
    const known = this.#texts.get(part);
    if (known !== undefined) return known;
    const text = make(part);
    this.#texts.set(part, text);
    return text;
  }
}

function member(name: string, json: string): string {
  return `${JSON.stringify(name)}:${json},\n`;
}

function lines(items: readonly string[]): string {
  return items.length === 0 ? '[]' : `[\n${items.join(',\n')}\n]`;
}

function entryText(entry: PluginEntry): string {
  return objectText(entry, ENTRY_MEMBERS, entry.extra);
}

function tombstoneText(tombstone: Tombstone): string {
  return objectText(tombstone, TOMBSTONE_MEMBERS, tombstone.extra);
}

/** The members of `part` in the order of the format, then those of newer versions; fromEntries takes any name. */
function objectText<T extends object>(
  part: T,
  names: readonly (keyof T & string)[],
  extra: UnknownFields = new Map(),
): string {
  return JSON.stringify(Object.fromEntries([...names.map((name) => [name, part[name]] as const), ...extra]));
}
