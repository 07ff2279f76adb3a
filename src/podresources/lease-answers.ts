// Answers of PodResources from leases and lists. Each is encoded once for each change and asking has no effect, so a
// client that asks all the time costs little more than the bytes it is sent.
import type { LeaseSource } from '../model/lease.js';
import { AllocatableAnswers, type AllocatablePorts } from './allocatable-answers.js';
import { AnswerRoom, MAX_ANSWER_BYTES } from './answer-room.js';
import { byNamespaceAndName, firstDevices, podKey, podsOf, type Pod } from './pods.js';
import type { AllocatablePart, PodEncoder, PodResourcesBackend, PodResourcesVersion } from './ports.js';

/** The sources of the answers. */
export interface LeaseAnswerPorts extends Omit<AllocatablePorts, 'incomplete'> {
  readonly leases: LeaseSource;
  readonly encoder: PodEncoder;
  /**
   * Whether a kubelet has a resource from a plugin of its own, and the plugin here is gone or an ordinary user's, so that our word
   * counts for nothing: `resourceUsers` (podresources/resource-users).
   */
  readonly isKubelets: (resource: string) => boolean;
  /** The ordinary user that a uid belongs to: `strangerUser` (model/ids). */
  readonly strangerOfUid: (uid: number) => number | undefined;
  /**
   * So many owners, or resources, are not all in an answer, because it would be too long; 0: all are. `incompleteAnswers`
   * (podresources/incomplete) tells it.
   */
  readonly incomplete: (what: 'List' | 'Get' | 'GetAllocatableResources', left: number) => void;
}

/** An answer of List. */
interface Listed {
  readonly without: string;
  /** Bytes of a kubelet's pods that were counted on. */
  readonly theirs: number;
  /** Whether some owners were left out for want of room beside these. */
  readonly isTight: boolean;
  readonly answer: Buffer;
}

/** Answers with leases. */
export class LeaseAnswers implements PodResourcesBackend {
  readonly #ports: LeaseAnswerPorts;
  readonly #allocatable: AllocatableAnswers;
  readonly #lists = new Map<PodResourcesVersion, Listed>();
  #pods: ReadonlyMap<string, Pod> | undefined;
  /** Answers of Get, the oldest first; further ones of the same leases are made anew. */
  readonly #got = new Map<string, Buffer>();
  #gotBytes = 0;
  /** Owners that have more than fits into one answer, as far as somebody asked for them. */
  readonly #cut = new Set<string>();
  /** Resources of which no leases are told. */
  #left: ReadonlySet<string> = new Set();

  constructor(ports: LeaseAnswerPorts) {
    this.#ports = ports;
    const { incomplete } = ports;
    this.#allocatable = new AllocatableAnswers({
      ...ports,
      incomplete: (resources) => incomplete('GetAllocatableResources', resources),
    });
    ports.leases.onChange(() => this.#forget());
  }

  /**
   * To be told before each answer, because the plugin of a resource may be another user's meanwhile. Leases of an ordinary user's
   * plugin are not told where the kubelet has the resource from a plugin of its own: their owners would stand beside the pods
   * that have its devices.
   *
   * @param resources those in the kubelet's answer of GetAllocatableResources
   */
  kubeletHas(resources: ReadonlySet<string>): void {
    const left = new Set([...resources].filter((resource) => this.#ports.isKubelets(resource)));
    if (left.size === this.#left.size && [...left].every((resource) => this.#left.has(resource))) return;
    this.#left = left;
    this.#forget();
  }

  /**
   * All owners by namespace and name. Where not all fit, those of root and of the broker's user come before a kubelet's pods, and those
   * of ordinary users behind them, in their shares; of each those with the oldest leases are in it.
   *
   * @param taken keys of pods (see podKey) whose names are not an owner's here
   * @param theirs bytes of a kubelet's pods that are in the answer, too
   */
  list(version: PodResourcesVersion, taken: ReadonlySet<string> = new Set(), theirs = 0): Buffer {
    const pods = this.#podsNow();
    const left = [...pods.keys()].filter((key) => taken.has(key));
    const without = left.join('\n');
    const known = this.#lists.get(version);
    if (known?.without === without && isGood(known, theirs)) return known.answer;
    const room = new AnswerRoom();
    const fitting: { readonly pod: Pod; readonly bytes: Buffer }[] = [];
    const own = [...pods].filter(([key]) => !taken.has(key)).map(([, pod]) => pod);
    let isTight = false;
    for (const isStrangers of [false, true]) {
      if (isStrangers) room.take(undefined, theirs);
      for (const pod of own) {
        const stranger = this.#ports.strangerOfUid(pod.uid);
        if ((stranger !== undefined) !== isStrangers) continue;
        const bytes = this.#ports.encoder.listed(version, pod);
        if (bytes.length > room.of(stranger)) isTight ||= bytes.length > room.of(undefined);
        else {
          room.take(stranger, bytes.length);
          fitting.push({ pod, bytes });
        }
      }
    }
    fitting.sort((one, other) => byNamespaceAndName(one.pod, other.pod));
    const answer = Buffer.concat(fitting.map(({ bytes }) => bytes));
    this.#lists.set(version, { without, theirs, isTight, answer });
    this.#ports.incomplete('List', own.length - fitting.length);
    return answer;
  }

  /** @param theirs the devices of a kubelet, which are in the answer, too; the same value as long as they are the same */
  allocatable(theirs?: readonly AllocatablePart[]): Promise<Buffer> {
    return this.#allocatable.answer(theirs);
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

  #forget(): void {
    this.#pods = undefined;
    this.#lists.clear();
    this.#got.clear();
    this.#gotBytes = 0;
    if (this.#cut.size === 0) return;
    this.#cut.clear();
    this.#ports.incomplete('Get', 0);
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
    this.#pods ??= new Map(
      podsOf(this.#ports.leases.leases(), this.#left).map((pod) => [podKey(pod.namespace, pod.name), pod]),
    );
    return this.#pods;
  }
}

/** Whether an answer would be the same beside other pods of a kubelet: encoding leases takes longer than asking for them. */
function isGood({ theirs, isTight, answer }: Listed, now: number): boolean {
  return theirs === now || (!isTight && answer.length + now <= MAX_ANSWER_BYTES);
}
