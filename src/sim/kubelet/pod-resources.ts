// The PodResources service of a kubelet (kubernetes: pkg/kubelet/apis/podresources/server_v1.go). List has an effect that its
// callers do not expect: the set in use is rebuilt from the pods that have their devices, which forgets an Allocate under way.
import path from 'node:path';
import { mkdirSync } from 'node:fs';
import { status, type sendUnaryData, type Server, type ServerUnaryCall } from '@grpc/grpc-js';
import type { Faults } from '../device/faults.js';
import { PluginServer } from '../../device-plugin/plugin-server.js';
import { loadServices } from '../protos.js';
import type { SimFacts } from '../sim-log.js';
import type { DeviceManager } from './device-manager.js';
import type { NodePods, Pod } from './pods.js';

/** The sources of the service's answers. */
export interface PodResourcesPorts {
  readonly directory: string;
  readonly devices: DeviceManager;
  readonly pods: NodePods;
  readonly faults: Faults;
  /** Told of each call when it arrives. */
  readonly say: (event: string, facts: SimFacts) => void;
}

/** Serves kubelet.sock in the directory of PodResources. */
export function servePodResources({ directory, devices, pods, faults, say }: PodResourcesPorts): Promise<PluginServer> {
  mkdirSync(directory, { recursive: true, mode: 0o750 });
  const shown = (pod: Pod): object => ({
    name: pod.name,
    namespace: pod.namespace,
    containers: pod.containers.map(({ name }) => ({
      name,
      devices: devices
        .ofContainer(pod.uid, name)
        .map(({ resource, ids }) => ({ resourceName: resource, deviceIds: ids })),
    })),
  });
  const answers: Readonly<Record<string, (request: { podName: string; podNamespace: string }) => object>> = {
    List: () => {
      devices.collect(pods.active());
      return { podResources: pods.all().map(shown) };
    },
    Get: ({ podName, podNamespace }) => {
      const pod = pods.get(`${podNamespace}/${podName}`);
      if (pod === undefined) throw new Error(`pod ${podName} in namespace ${podNamespace} not found`);
      return { podResources: shown(pod) };
    },
    // One entry for each device, as the kubelet has it (pkg/kubelet/cm/container_manager_linux.go).
    GetAllocatableResources: () => ({
      devices: [...devices.snapshot().registered].flatMap(([resource, ids]) =>
        ids.map((id) => ({ resourceName: resource, deviceIds: [id] })),
      ),
    }),
  };
  const { 'v1.PodResourcesLister': api } = loadServices('podresources/v1/podresources.proto', {
    'v1.PodResourcesLister': ['List', 'Get', 'GetAllocatableResources'],
  });
  const attach = (server: Server): void => {
    const serving = Object.entries(answers).map(([method, answer]) => {
      const handler = (
        call: ServerUnaryCall<Parameters<typeof answer>[0], object>,
        reply: sendUnaryData<object>,
      ): void => {
        const { podName, podNamespace } = call.request;
        say('called', { method, ...(method === 'Get' ? { pod: `${podNamespace}/${podName}` } : {}) });
        const answered = async (): Promise<object> => {
          await faults.before(method);
          return answer(call.request);
        };
        answered().then(
          (value) => reply(null, value),
          (failure: unknown) => {
            const { message, code = status.UNKNOWN } = failure as Error & { readonly code?: status };
            reply({ code, details: message });
          },
        );
      };
      return [method, handler] as const;
    });
    server.addService(api, Object.fromEntries(serving));
  };
  return PluginServer.listen(path.join(directory, 'kubelet.sock'), attach);
}
