// The ports of the front, and its interfaces for the servers of its sockets.
import type { DeviceMethod, DeviceOptions, DevicePlugins } from '../model/device-use.js';
import type { PluginState } from '../model/plugin.js';
import type { Reason } from '../model/reasons.js';

/** The broker's facts about a resource at this moment: the instance that speaks for it, and its last list. */
export interface ResourceNow {
  readonly instanceId: string;
  /** The user as which its plugin runs; undefined: not known. */
  readonly uid?: number | undefined;
  readonly state: PluginState;
  readonly reason: Reason;
  /** From the checkpoint of another boot and not confirmed since. */
  readonly isHint: boolean;
  /** It was reached in this life of the broker. */
  readonly isConfirmed: boolean;
  /** As the plugin sent it. */
  readonly list: Buffer;
  readonly devices: number;
  readonly healthy: number;
  /** As the plugin said, now or before the restart. */
  readonly options: DeviceOptions;
}

/** A call that goes on to a plugin as it came. */
export interface DeviceCall {
  readonly method: DeviceMethod;
  readonly request: Buffer;
  /** Milliseconds until it fails. */
  readonly limitMs: number;
}

/** The resources of the broker. KubeletResources (front/kubelet-resources) has them. */
export interface FrontedResources extends Pick<DevicePlugins, 'isAlive'> {
  /** Resources that are to be fronted now: known, matched by the settings, and for the pods of the kubelet. */
  names(): string[];
  /** Undefined when it is none of those, or nothing is known of it any more. */
  now(resource: string): ResourceNow | undefined;
  /** Passes a call on over the open session of an instance. Rejects with FailedCall; undefined without a session. */
  call(instanceId: string, call: DeviceCall, signal: AbortSignal): Promise<Buffer> | undefined;
}

/**
 * Lists and requests as bytes: the front compares and composes them and never needs their form. `frontWire`
 * (platform/wire/front-wire).
 */
export interface FrontWire {
  /** Ids that a request is about, in its order. @throws Error when it cannot be decoded */
  idsOf(method: DeviceMethod, request: Buffer): readonly string[];
  /**
   * The devices of a list by id, with whether they are healthy: those of the given ids that it has. Gives way to others while the
   * list is long. Rejects for a list that cannot be read.
   */
  healthInTurns(list: Buffer, ids: readonly string[]): Promise<ReadonlyMap<string, boolean>>;
  /** Those of the given ids that a list has not, in their order. */
  unlisted(list: Buffer, ids: readonly string[]): readonly string[];
  /** The same, giving way to others while either is long. Rejects where `unlisted` throws. */
  unlistedInTurns(list: Buffer, ids: readonly string[]): Promise<readonly string[]>;
  /**
   * Octets that the devices of a list may have in an answer of the kubelet's PodResources, which has an entry with the name of the
   * resource for each NUMA node of each device: each counts as near MOST_NODES (model/front), because a pod keeps one as it was when
   * its plugin lists it otherwise, or not at all. Infinity where one is near more.
   */
  octetsOf(list: Buffer, resource: string): number;
  /** The same, giving way to others while the list is long. Rejects where `octetsOf` throws. */
  octetsInTurns(list: Buffer, resource: string): Promise<number>;
  /** Whether a device that is healthy in one list is not in the other. */
  isWorse(before: Buffer, next: Buffer): boolean;
  /** The list with all its devices unhealthy, if that is wanted, and with further unhealthy ones at its end. */
  compose(list: Buffer, isAllUnhealthy: boolean, vanished: readonly string[]): Buffer;
  /** The same, giving way to others while either is long. Rejects where `compose` throws. */
  composeInTurns(list: Buffer, isAllUnhealthy: boolean, vanished: readonly string[]): Promise<Buffer>;
  /** An answer of GetPreferredAllocation that prefers nothing. */
  readonly noPreference: Buffer;
  /** The answer of PreStartContainer. */
  readonly started: Buffer;
}

/** The kubelet that stands at kubelet.sock: KubeletSocket (platform/kubelet/kubelet-socket). */
export interface Kubelet {
  /** The incarnation of kubelet.sock now; undefined when there is none. */
  incarnation(): string | undefined;
  /** Calls Register. Rejects with FailedCall. */
  register(resource: string, endpoint: string, options: DeviceOptions, signal: AbortSignal): Promise<void>;
}

/** A ListAndWatch stream of a kubelet: ListWriter (platform/kubelet/front-door). */
export interface ListOut {
  /** Sends a list as soon as the ones before have left; one that has not begun to leave is replaced. */
  send(list: Buffer): void;
  /** Ends the stream when everything has left. */
  end(): void;
}

/** The service on the sockets of one resource: FrontedResource (front/fronted-resource). */
export interface FrontedService {
  /**
   * Whether there is a list for the kubelet. Otherwise the kubelet must not hear of the resource by its registry either: the end
   * of an empty stream would cut off another plugin that offers the resource to it by now.
   */
  readonly isOffered: boolean;
  /** The user whose plugin spoke for the resource last; undefined: not known. */
  readonly uid: number | undefined;
  options(): DeviceOptions;
  /** Calls back once when the socket that no Register names may be answered, which is soon. */
  afterRegister(go: () => void): void;
  /** A stream was opened. Returns the function to call when it has ended. */
  watch(stream: ListOut): () => void;
  /** Never rejects. @param given aborted when the kubelet gives the call up, and by the end of the front */
  call(method: DeviceMethod, request: Buffer, given: AbortController): Promise<FrontAnswer>;
}

/** How a call of the kubelet is answered: with the plugin's bytes, or with a gRPC status and a sentence. */
export type FrontAnswer = { readonly bytes: Buffer } | { readonly status: number; readonly message: string };

/** The two sockets of one resource and its entry in the kubelet's registry: KubeletSockets (platform/kubelet/front-sockets). */
export interface FrontSockets {
  /** As Register names it: relative to the directory of kubelet.sock. */
  readonly endpoint: string;
  /**
   * Binds sockets that are not where they belong (any more). Once closed it binds nothing, neither later nor by a call under way.
   *
   * @throws Error with a sentence when a path is not ours to take, or when it was closed
   */
  ensure(): Promise<void>;
  /** Makes the entry in the registry unless it is there. Returns the obstacle, in a sentence. */
  enter(): string | undefined;
  /**
   * Stops listening; connections go on. The entry stays, because a kubelet forgets a plugin by its resource name when one goes,
   * and would cut off another plugin that has the name there now.
   *
   * @param isForgotten the files of the sockets go. They stay for a successor, which binds over them and knows by them which
   *   resources pods were offered
   */
  close(isForgotten: boolean): void;
}

/** Makes the sockets of a resource, KubeletSockets (platform/kubelet/front-sockets); binds nothing yet. */
export type OpenSockets = (resource: string, service: FrontedService) => FrontSockets;

/** The owners of devices, as far as they are known: Owners (front/owners). */
export interface FrontOwners {
  /** Ids of a resource that pods have, or are given now: the same array until they change. */
  idsOf(resource: string): readonly string[];
  /** Whether no pod has devices of a resource, as the kubelet said and as they were given, and none can have any unnamed. */
  isFree(resource: string): boolean;
  /**
   * Whether another living pod has one of these ids, confirmed by the kubelet just now. Never rejects.
   *
   * @returns a sentence that names the pod, or undefined
   */
  takenBy(resource: string, ids: readonly string[], signal: AbortSignal): Promise<string | undefined>;
  /** These are being given to a pod, or were just now: they are its own until the kubelet has said twice that they are not. */
  giving(resource: string, ids: readonly string[]): void;
  /**
   * Whether the kubelet could not be asked which pods have which devices for so long, because it gives devices all the time, that calls of
   * the ordinary user whose plugins are called most are to be refused until it has said so: whether that is this one.
   */
  needsQuiet(user: number): boolean;
  /**
   * Calls under way in which the kubelet gives devices, or chooses them: owners are not asked for meanwhile.
   *
   * @param user the ordinary user of the plugin; undefined: it is root's, or the broker's own user's
   * @param tookMs of one that is over
   */
  allocating(by: 1 | -1, user?: number, tookMs?: number): void;
}

/** A call that is answered with an error: the sentence ends in the pod's status. */
export class FrontFailure extends Error {
  override readonly name = 'FrontFailure';
  /** gRPC status number. */
  readonly status: number;
  /**
   * The connection ended before the plugin answered: other effects of that end are reported in the same moment, before or after.
   */
  readonly isCutOff: boolean;
  constructor(status: number, message: string, isCutOff = false) {
    super(message);
    this.status = status;
    this.isCutOff = isCutOff;
  }
}

/** Devices of one resource that a container has. */
export interface PodHolding {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  readonly resource: string;
  readonly ids: readonly string[];
}

/** The kubelet's PodResources service: `podResourcesClient` (platform/kubelet/pod-resources-client). All reject with FailedCall. */
export interface PodResources {
  list(limitMs: number, signal: AbortSignal): Promise<readonly PodHolding[]>;
  /** Undefined when the kubelet knows no such pod. */
  get(namespace: string, pod: string, limitMs: number, signal: AbortSignal): Promise<readonly PodHolding[] | undefined>;
  /** Resources of which the kubelet has healthy devices. */
  usable(limitMs: number, signal: AbortSignal): Promise<ReadonlySet<string>>;
}
