// PodResources of the kubelet: for the front, which asks for the owners of devices, and as answers to our own clients.
import type { PodHolding, PodResources } from '../../front/ports.js';
import { GRPC_STATUS } from '../../model/reasons.js';
import type { KubeletAnswers, KubeletPod } from '../../podresources/ports.js';
import { decoded } from '../grpc/plugin-calls.js';
import type { Guarding } from '../grpc/owned-sockets.js';
import { CallFailed, PluginChannel } from '../grpc/plugin-client.js';
import { kubeletsOwn } from './kubelets-own.js';
import { nextTurn } from '../time/next-turn.js';
import { AllocatableWalk } from '../wire/allocatable-walk.js';
import { Reader } from '../wire/reader.js';
import {
  GetPodResourcesRequest,
  GetPodResourcesResponse,
  ListPodResourcesResponse,
  podResourcesListerService,
} from '../../generated/proto/podresources/v1/podresources.js';

/** All pods of a node, with all they have. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
/** Bytes that are decoded at once: a node has its pods by the hundred, and a plugin as many devices as its list has room for. */
const SLICE_BYTES = 64 * 1024;
const NOTHING = Buffer.alloc(0);
const ANSWER = 'ListPodResourcesResponse';

type Pod = ReturnType<typeof ListPodResourcesResponse.decode>['podResources'][number];

/** For the front: the owners of devices. */
export function podResourcesClient(socket: string, guarding: Guarding): PodResources {
  const answers = kubeletAnswers(socket, guarding);
  return {
    list: async (limitMs, signal) => {
      const holdings: PodHolding[] = [];
      const giveWay = slicer();
      for (const { bytes } of await answers.list(limitMs, signal)) {
        const { podResources } = decoded(() => ListPodResourcesResponse.decode(bytes));
        for (const pod of podResources) holdings.push(...holdingsOf(pod));
        await giveWay(bytes.length);
      }
      return holdings;
    },
    usable: async (limitMs, signal) => {
      const parts = await answers.allocatable(limitMs, signal);
      return new Set(parts.filter(({ hasIds }) => hasIds).map(({ resource }) => resource));
    },
    get: async (namespace, pod, limitMs, signal) => {
      const bytes = await answers.get(namespace, pod, limitMs, signal);
      if (bytes === undefined) return undefined;
      const { podResources } = decoded(() => GetPodResourcesResponse.decode(bytes));
      return podResources === undefined ? undefined : holdingsOf(podResources);
    },
  };
}

/** The answers as they come, for our own clients. */
export function kubeletAnswers(socket: string, guarding: Guarding): KubeletAnswers {
  /** Asks on a connection of its own each time: the kubelet may be another one. */
  const call = async (method: string, request: Buffer, limitMs: number, signal: AbortSignal): Promise<Buffer> => {
    const pinned = kubeletsOwn(socket);
    const channel = new PluginChannel(pinned.dialPath, MAX_ANSWER_BYTES, guarding, socket);
    try {
      return await channel.unary(method, request, limitMs, signal);
    } finally {
      channel.close();
      pinned.release();
    }
  };
  return {
    list: async (limitMs, signal) => {
      const bytes = await call(podResourcesListerService.List.path, NOTHING, limitMs, signal);
      return podsIn(bytes);
    },
    allocatable: async (limitMs, signal) => {
      const { path } = podResourcesListerService.GetAllocatableResources;
      const walk = new AllocatableWalk(await call(path, NOTHING, limitMs, signal));
      while (!decoded(() => walk.readSlice())) await nextTurn();
      return walk.parts;
    },
    get: async (podNamespace, podName, limitMs, signal) => {
      const request = GetPodResourcesRequest.encode({ podName, podNamespace });
      try {
        return await call(podResourcesListerService.Get.path, request, limitMs, signal);
      } catch (failure) {
        if (isUnknownPod(failure)) return undefined;
        throw failure;
      }
    },
  };
}

/**
 * The kubelet's words for a pod that it does not know. It has the same status for everything else, such as a Get that is switched
 * off (1.32: `PodResources API Get method disabled`).
 */
function isUnknownPod(failure: unknown): boolean {
  return (
    failure instanceof CallFailed && failure.status === GRPC_STATUS.UNKNOWN && failure.message.endsWith(' not found')
  );
}

/** An answer of List cut into its pods, each of which is an answer of List again. Rejects with CallFailed. */
async function podsIn(bytes: Buffer): Promise<KubeletPod[]> {
  const reader = new Reader(bytes);
  const pods: KubeletPod[] = [];
  const giveWay = slicer();
  while (reader.pos < bytes.length) {
    const from = reader.pos;
    const [pod = { namespace: '', name: '' }] = decoded(() => {
      reader.skip(reader.tag(ANSWER), ANSWER);
      return ListPodResourcesResponse.decode(bytes.subarray(from, reader.pos)).podResources;
    });
    pods.push({ namespace: pod.namespace, name: pod.name, bytes: bytes.subarray(from, reader.pos) });
    await giveWay(reader.pos - from);
  }
  return pods;
}

/** Makes a function that is called after each piece of decoding with its bytes, and now and then gives way to others. */
function slicer(): (bytes: number) => Promise<void> | undefined {
  let left = SLICE_BYTES;
  return (bytes) => {
    left -= bytes;
    if (left > 0) return undefined;
    left = SLICE_BYTES;
    return nextTurn();
  };
}

function holdingsOf({ namespace, name: pod, containers }: Pod): PodHolding[] {
  return containers.flatMap(({ name: container, devices }) =>
    devices.map(({ resourceName: resource, deviceIds: ids }) => ({ namespace, pod, container, resource, ids })),
  );
}
