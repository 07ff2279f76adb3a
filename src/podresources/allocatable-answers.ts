// Answers of GetAllocatableResources: our lists, each encoded once, behind the devices of a kubelet. What is joined is kept until
// one of the two is another, because hundreds may ask at once.
import { HEALTHY } from '../model/device.js';
import { AnswerRoom } from './answer-room.js';
import type { AllocatablePart, PodEncoder, UsableList } from './ports.js';

/** The longest part of a list: what does not fit beside a kubelet's devices is left out by parts. */
const PART_BYTES = 64 * 1024;

/** The sources of the answer. */
export interface AllocatablePorts {
  /** The lists of devices that may be used: `usableLists` (podresources/usable-lists). */
  readonly usable: () => readonly UsableList[];
  readonly encoder: Pick<PodEncoder, 'allocatable'>;
  /** The ordinary user whose plugin has a resource that the kubelet has from us. */
  readonly strangerOf: (resource: string) => number | undefined;
  /** The devices of so many resources are not all in the answer. */
  readonly incomplete: (resources: number) => void;
}

/** A part with the ordinary user in whose share it counts. */
interface OwnedPart extends Omit<AllocatablePart, 'hasIds'> {
  readonly stranger: number | undefined;
}

/** What was made of a list, as far as there was room for it. */
interface EncodedList {
  readonly room: number;
  readonly bytes: number;
  readonly isCut: boolean;
  readonly parts: readonly Buffer[];
}

/** Our lists. */
interface Own {
  readonly of: readonly UsableList[];
  readonly parts: readonly OwnedPart[];
  /** Resources of which devices are left out. */
  readonly cut: ReadonlySet<string>;
}

const NOTHING: readonly AllocatablePart[] = [];

/** The answers. */
export class AllocatableAnswers {
  readonly #ports: AllocatablePorts;
  /** By the value that is the same as long as the list is. */
  #lists: ReadonlyMap<object, EncodedList> = new Map();
  #own: Own | undefined;
  #encoding: Promise<Own> | undefined;
  #joined: { readonly own: Own; readonly theirs: readonly AllocatablePart[]; readonly bytes: Buffer } | undefined;

  constructor(ports: AllocatablePorts) {
    this.#ports = ports;
  }

  /**
   * All healthy devices that could be used, given out or not: those of root's and the broker's plugins, the kubelet's before ours,
   * and then those of ordinary users' plugins, as many as fit. Each such user has a quarter of the answer at most, and all of them
   * three quarters. Of a resource that the kubelet has, no devices of an ordinary user's plugin are named beside its own.
   *
   * @param theirs a kubelet's devices; the same value as long as they are the same
   */
  async answer(theirs = NOTHING): Promise<Buffer> {
    const usable = this.#ports.usable();
    const own =
      this.#own !== undefined && isSame(this.#own.of, usable)
        ? this.#own
        : await (this.#encoding ??= this.#encode(usable).finally(() => (this.#encoding = undefined)));
    const known = this.#joined;
    if (known?.own === own && known.theirs === theirs) return known.bytes;
    const bytes = this.#join(own, theirs);
    this.#joined = { own, theirs, bytes };
    return bytes;
  }

  #join(own: Own, theirs: readonly AllocatablePart[]): Buffer {
    const users = new Map(
      [...new Set(theirs.map(({ resource }) => resource))].map((name) => [name, this.#userOf(name)]),
    );
    const doubled = new Set(
      own.of.filter((one) => one.stranger !== undefined && users.has(one.resource)).map(({ resource }) => resource),
    );
    const all = [
      ...theirs.map(({ resource, bytes }): OwnedPart => ({ resource, bytes, stranger: users.get(resource) })),
      ...own.parts.filter(({ resource }) => !doubled.has(resource)),
    ];
    const room = new AnswerRoom();
    const cut = new Set([...own.cut].filter((resource) => !doubled.has(resource)));
    const fitting: Buffer[] = [];
    for (const isStrangers of [false, true]) {
      const left = new Set<string>();
      for (const { resource, stranger, bytes } of all) {
        if ((stranger !== undefined) !== isStrangers || left.has(resource)) continue;
        if (bytes.length > room.of(stranger)) {
          left.add(resource);
          cut.add(resource);
        } else {
          room.take(stranger, bytes.length);
          fitting.push(bytes);
        }
      }
    }
    this.#ports.incomplete(cut.size);
    return Buffer.concat(fitting);
  }

  /** What a kubelet says beside devices is nobody else's. */
  #userOf(resource: string): number | undefined {
    return resource === '' ? undefined : this.#ports.strangerOf(resource);
  }

  async #encode(usable: readonly UsableList[]): Promise<Own> {
    const room = new AnswerRoom();
    const lists = new Map<object, EncodedList>();
    const cut = new Set<string>();
    const parts: OwnedPart[] = [];
    for (const one of usable.toSorted(trustedFirst)) {
      const { resource, stranger, list } = one;
      const left = room.of(stranger);
      const known = this.#lists.get(list);
      // One user's list that changes all the time would otherwise have those of all others encoded anew.
      const isGood = known !== undefined && (known.isCut ? known.room === left : known.bytes <= left);
      const encoded = isGood ? known : await this.#encodeList(one, left);
      lists.set(list, encoded);
      room.take(stranger, encoded.bytes);
      if (encoded.isCut) cut.add(resource);
      for (const bytes of encoded.parts) parts.push({ resource, stranger, bytes });
    }
    this.#lists = lists;
    this.#own = { of: usable, parts, cut };
    return this.#own;
  }

  async #encodeList({ resource, devices }: UsableList, room: number): Promise<EncodedList> {
    const parts: Buffer[] = [];
    let entries: Buffer[] = [];
    let [bytes, partBytes, isCut] = [0, 0, room <= 0];
    const flush = (): void => {
      if (partBytes > 0) parts.push(Buffer.concat(entries));
      [entries, partBytes] = [[], 0];
    };
    if (!isCut) {
      reading: for await (const part of devices()) {
        for (const { id, numaNodes, health } of part) {
          if (health !== HEALTHY) continue;
          const entry = this.#ports.encoder.allocatable({ resource, id, numaNodes });
          isCut = bytes + entry.length > room;
          if (isCut) break reading;
          if (partBytes + entry.length > PART_BYTES) flush();
          entries.push(entry);
          partBytes += entry.length;
          bytes += entry.length;
        }
      }
    }
    flush();
    return { room, bytes, isCut, parts };
  }
}

/** By resource, those whose plugin is an ordinary user's last: the others are what exporters of the node are there for. */
function trustedFirst(one: UsableList, other: UsableList): number {
  const [a, b] = [one.stranger !== undefined, other.stranger !== undefined];
  if (a !== b) return a ? 1 : -1;
  return one.resource < other.resource ? -1 : 1;
}

function isSame(one: readonly UsableList[], other: readonly UsableList[]): boolean {
  return (
    one.length === other.length &&
    one.every(({ resource, list, stranger }, index) => {
      const now = other[index];
      return now?.resource === resource && now.list === list && now.stranger === stranger;
    })
  );
}
