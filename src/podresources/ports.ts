// The ports of PodResources, and its interface for the socket.
import type { TurnFigures } from '../kernel/pace.js';
import type { Device } from '../model/device.js';
import type { Caller } from '../model/ids.js';
import type { PodDevice, ShownPod } from './pods.js';

/**
 * How often one caller may ask, as of a kubelet. That has one bucket for everybody, so there one client that asks all the time
 * starves the others; here each process has its own.
 */
export const KUBELET_RATE: TurnFigures = { burst: 10, intervalMs: 10 };

/** The two forms of the API that clients speak. */
export type PodResourcesVersion = 'v1' | 'v1alpha1';

/** The list that speaks for a resource whose devices can be used now: `usableLists` (podresources/usable-lists). */
export interface UsableList {
  readonly resource: string;
  /** The same value as long as the list is the same. */
  readonly list: object;
  /** The user of its plugin, where that is an ordinary one. */
  readonly stranger: number | undefined;
  /** Decodes the list, which is kept as bytes, part by part; others have their turn before each. */
  readonly devices: () => AsyncIterable<readonly Device[]>;
}

/**
 * Makes bytes: `podEncoder` (platform/wire/pod-encoder). Messages of the same type that are put one after the other are one
 * message with the contents of all.
 */
export interface PodEncoder {
  /** The answer of List with one pod. */
  listed(version: PodResourcesVersion, pod: ShownPod): Buffer;
  /** The answer of GetAllocatableResources with one device. */
  allocatable(device: PodDevice): Buffer;
  /** The answer of Get. */
  got(pod: ShownPod): Buffer;
}

/** An answer of Get. */
export type Got = Buffer | 'limited' | undefined;

/**
 * The backend of the socket: encoded answers. LeaseAnswers (podresources/lease-answers) answers with leases; UpstreamAnswers
 * (podresources/upstream) wraps it where a kubelet is asked, too, and joins the bytes of both.
 */
export interface PodResourcesBackend {
  list(version: PodResourcesVersion): Buffer | Promise<Buffer>;
  allocatable(): Buffer | Promise<Buffer>;
  /** Undefined when there is no such owner; `limited` when the caller asks too often. */
  get(namespace: string, name: string, caller?: Caller): Got | Promise<Got>;
}

/** A pod in a kubelet's answer of List. */
export interface KubeletPod {
  readonly namespace: string;
  readonly name: string;
  /** An answer of List with this pod alone; good for both versions, because the newer one only adds fields. */
  readonly bytes: Buffer;
}

/** A part of an answer of GetAllocatableResources: such an answer itself, of one resource. */
export interface AllocatablePart {
  /** Empty: what the answer has beside devices. */
  readonly resource: string;
  /** 64 KiB at most. */
  readonly bytes: Buffer;
  /** Whether it names a device. */
  readonly hasIds: boolean;
}

/** PodResources of a kubelet, as bytes: `kubeletAnswers` (platform/kubelet/pod-resources-client). All reject with FailedCall. */
export interface KubeletAnswers {
  list(limitMs: number, signal: AbortSignal): Promise<readonly KubeletPod[]>;
  allocatable(limitMs: number, signal: AbortSignal): Promise<readonly AllocatablePart[]>;
  /** Undefined when the kubelet knows no such pod. */
  get(namespace: string, name: string, limitMs: number, signal: AbortSignal): Promise<Buffer | undefined>;
}
