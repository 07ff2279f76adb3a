// Answers of PodResources from leases and lists. Each is encoded once for each change and asking has no effect, so a
// client that asks all the time costs little more than the bytes it is sent.
import type { LeaseSource } from '../model/lease.js';
import { HEALTHY, type Device } from '../model/device.js';
import type { Resource } from '../model/device-list.js';
import { byNamespaceAndName, firstDevices, podKey, podsOf, type Pod } from './pods.js';
import type { PodEncoder, PodResourcesBackend, PodResourcesVersion, UsableList } from './ports.js';

/** The largest message that gRPC clients take when nothing else was said to them. */
export const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

/** The sources of the answers. */
export interface LeaseAnswerPorts {
  readonly leases: LeaseSource;
  /** The lists of devices that may be used: `usableLists` (podresources/lease-answers). */
  readonly usable: () => readonly UsableList[];
  readonly encoder: PodEncoder;
  /**
   * So many owners, or resources, are not all in an answer, because it would be too long; 0: all are. `incompleteAnswers`
   * (podresources/incomplete) tells it.
   */
  readonly incomplete: (what: 'List' | 'Get' | 'GetAllocatableResources', left: number) => void;
}

/** The devices of an answer, and where each of them ends. */
interface AllocatableBytes {
  readonly bytes: Buffer;
  readonly ends: readonly number[];
}

/** Answers with leases. */
export class LeaseAnswers implements PodResourcesBackend {
  readonly #ports: LeaseAnswerPorts;
  readonly #lists = new Map<PodResourcesVersion, { readonly without: string; readonly answer: Buffer }>();
  #pods: ReadonlyMap<string, Pod> | undefined;
  /** Answers of Get, the oldest first; further ones of the same leases are made anew. */
  readonly #got = new Map<string, Buffer>();
  #gotBytes = 0;
  /** Owners that have more than fits into one answer, as far as somebody asked for them. */
  readonly #cut = new Set<string>();
  #allocatable: { readonly of: readonly UsableList[]; readonly bytes: AllocatableBytes } | undefined;
  /** The part of them that was asked for last. */
  #cutDevices: { readonly of: Buffer; readonly mostBytes: number; readonly bytes: Buffer } | undefined;
  #encoding: Promise<AllocatableBytes> | undefined;

  constructor(ports: LeaseAnswerPorts) {
    this.#ports = ports;
    ports.leases.onChange(() => {
      this.#pods = undefined;
      this.#lists.clear();
      this.#got.clear();
      this.#gotBytes = 0;
      if (this.#cut.size === 0) return;
      this.#cut.clear();
      ports.incomplete('Get', 0);
    });
  }

  /** All owners by namespace and name. Where not all fit, the owners with the oldest leases are in it. */
  list(version: PodResourcesVersion, taken: ReadonlySet<string> = new Set()): Buffer {
    const pods = this.#podsNow();
    const left = [...pods.keys()].filter((key) => taken.has(key));
    const without = left.join('\n');
    const known = this.#lists.get(version);
    if (known?.without === without) return known.answer;
    const fitting: { readonly pod: Pod; readonly bytes: Buffer }[] = [];
    let size = 0;
    for (const [key, pod] of pods) {
      if (taken.has(key)) continue;
      const bytes = this.#ports.encoder.listed(version, pod);
      if (size + bytes.length > MAX_ANSWER_BYTES) continue;
      size += bytes.length;
      fitting.push({ pod, bytes });
    }
    fitting.sort((one, other) => byNamespaceAndName(one.pod, other.pod));
    const answer = Buffer.concat(fitting.map(({ bytes }) => bytes));
    this.#lists.set(version, { without, answer });
    this.#ports.incomplete('List', pods.size - left.length - fitting.length);
    return answer;
  }

  /**
   * All healthy devices that could be used, given out or not, in the order of their lists: those of root's and the broker's plugins
   * by resource, then those of other users.
   *
   * @param mostBytes further devices are left out
   */
  async allocatable(mostBytes = MAX_ANSWER_BYTES): Promise<Buffer> {
    const usable = this.#ports.usable();
    const known = this.#allocatable;
    const { bytes, ends } =
      known !== undefined && isSame(known.of, usable)
        ? known.bytes
        : await (this.#encoding ??= this.#encodeAllocatable(usable).finally(() => (this.#encoding = undefined)));
    if (bytes.length <= mostBytes) return bytes;
    const cut = this.#cutDevices;
    if (cut?.of === bytes && cut.mostBytes === mostBytes) return cut.bytes;
    const most = bytes.subarray(0, ends.findLast((end) => end <= mostBytes) ?? 0);
    this.#cutDevices = { of: bytes, mostBytes, bytes: most };
    return most;
  }

  async #encodeAllocatable(usable: readonly UsableList[]): Promise<AllocatableBytes> {
    const parts: Buffer[] = [];
    const ends: number[] = [];
    const incomplete = new Set<string>();
    const ofUsers = new Map<number, number>();
    let size = 0;
    let ofStrangers = 0;
    for (const { resource, stranger, devices } of usable.toSorted(trustedFirst)) {
      for await (const part of devices()) {
        for (const { id, numaNodes, health } of part) {
          if (health !== HEALTHY) continue;
          const bytes = this.#ports.encoder.allocatable({ resource, id, numaNodes });
          const [own, strangers] =
            stranger === undefined ? [0, 0] : [(ofUsers.get(stranger) ?? 0) + bytes.length, ofStrangers + bytes.length];
          if (
            size + bytes.length > MAX_ANSWER_BYTES ||
            own > MAX_ANSWER_BYTES / 4 ||
            strangers > (3 * MAX_ANSWER_BYTES) / 4
          ) {
            incomplete.add(resource);
            break;
          }
          if (stranger !== undefined) {
            ofUsers.set(stranger, own);
            ofStrangers = strangers;
          }
          size += bytes.length;
          parts.push(bytes);
          ends.push(size);
        }
        if (incomplete.has(resource)) break;
      }
    }
    const bytes = { bytes: Buffer.concat(parts), ends };
    this.#allocatable = { of: usable, bytes };
    this.#ports.incomplete('GetAllocatableResources', incomplete.size);
    return bytes;
  }

  /** One owner, also one that did not fit into the answer of a list; of its devices as many as fit. */
  get(namespace: string, name: string): Buffer | undefined {
    const key = podKey(namespace, name);
    const known = this.#got.get(key);
    if (known !== undefined) return known;
    const pod = this.#podsNow().get(key);
    if (pod === undefined) return undefined;
    const bytes = this.#encodeOne(key, pod);
    this.#got.set(key, bytes);
    this.#gotBytes += bytes.length;
    for (const [oldest, { length }] of this.#got) {
      if (this.#gotBytes <= MAX_ANSWER_BYTES) break;
      this.#got.delete(oldest);
      this.#gotBytes -= length;
    }
    return bytes;
  }

  #encodeOne(key: string, pod: Pod): Buffer {
    const { encoder, incomplete } = this.#ports;
    let bytes = encoder.got(pod);
    if (bytes.length <= MAX_ANSWER_BYTES) return bytes;
    let left = pod.containers.reduce((sum, { devices }) => sum + devices.length, 0);
    while (bytes.length > MAX_ANSWER_BYTES) {
      left = Math.floor((left * MAX_ANSWER_BYTES) / bytes.length);
      bytes = encoder.got(firstDevices(pod, left));
    }
    this.#cut.add(key);
    incomplete('Get', this.#cut.size);
    return bytes;
  }

  #podsNow(): ReadonlyMap<string, Pod> {
    this.#pods ??= new Map(podsOf(this.#ports.leases.leases()).map((pod) => [podKey(pod.namespace, pod.name), pod]));
    return this.#pods;
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
    one.every(({ resource, list }, index) => other[index]?.resource === resource && other[index].list === list)
  );
}

/**
 * The lists of resources with usable devices, except those in the kubelet's own answer.
 *
 * @param front has the resources offered to the kubelet whose answer ours is joined to: Front (front/front); undefined: ours is
 * joined to none
 * @param strangerOf the ordinary user of the plugin whose list it is
 */
export function usableLists(
  resources: Iterable<Resource>,
  front: { isFronted(resource: string): boolean } | undefined,
  partsOf: (list: Buffer) => AsyncIterable<readonly Device[]>,
  strangerOf: (instanceId: string) => number | undefined,
): UsableList[] {
  return [...resources]
    .filter(({ name, allocatable }) => allocatable > 0 && front?.isFronted(name) !== true)
    .map(({ name, holding }) => ({
      ...{ resource: name, list: holding, stranger: strangerOf(holding.instanceId) },
      devices: () => partsOf(holding.raw),
    }));
}
