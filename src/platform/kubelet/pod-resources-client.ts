// PodResources of the kubelet, as the front asks for who has what.
import { existsSync } from 'node:fs';
import type { PodHolding, PodResources } from '../../front/owners.js';
import { GRPC_STATUS } from '../../model/reasons.js';
import { decoded } from '../grpc/plugin-calls.js';
import type { Guarding } from '../grpc/owned-sockets.js';
import { CallFailed, PluginChannel } from '../grpc/plugin-client.js';
import {
  GetPodResourcesRequest,
  GetPodResourcesResponse,
  ListPodResourcesResponse,
  podResourcesListerService,
} from '../../generated/proto/podresources/v1/podresources.js';

/** All pods of a node, with all they have. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
const NOTHING = Buffer.alloc(0);

type Pod = ReturnType<typeof ListPodResourcesResponse.decode>['podResources'][number];

/** Asks on a connection of its own each time: the kubelet may be another one. */
export function podResourcesClient(socket: string, guarding: Guarding): PodResources {
  const call = async (method: string, request: Buffer, limitMs: number, signal: AbortSignal): Promise<Buffer> => {
    if (!existsSync(socket)) throw new CallFailed(GRPC_STATUS.UNAVAILABLE, `there is no ${socket}`);
    const channel = new PluginChannel(socket, MAX_ANSWER_BYTES, guarding, socket);
    try {
      return await channel.unary(method, request, limitMs, signal);
    } finally {
      channel.close();
    }
  };
  return {
    list: async (limitMs, signal) => {
      const bytes = await call(podResourcesListerService.List.path, NOTHING, limitMs, signal);
      return decoded(() => ListPodResourcesResponse.decode(bytes)).podResources.flatMap(holdingsOf);
    },
    get: async (podNamespace, podName, limitMs, signal) => {
      const request = GetPodResourcesRequest.encode({ podName, podNamespace });
      try {
        const bytes = await call(podResourcesListerService.Get.path, request, limitMs, signal);
        const { podResources } = decoded(() => GetPodResourcesResponse.decode(bytes));
        return podResources === undefined ? undefined : holdingsOf(podResources);
      } catch (failure) {
        // The kubelet's word for a pod that it does not know.
        if (failure instanceof CallFailed && failure.status === GRPC_STATUS.UNKNOWN) return undefined;
        throw failure;
      }
    },
  };
}

function holdingsOf({ namespace, name: pod, containers }: Pod): PodHolding[] {
  return containers.flatMap(({ name: container, devices }) =>
    devices.map(({ resourceName: resource, deviceIds: ids }) => ({ namespace, pod, container, resource, ids })),
  );
}
