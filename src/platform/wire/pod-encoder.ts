// PodResources as bytes, in the order and form in which a kubelet gives them.
import type { PodDevice, ShownPod } from '../../podresources/pods.js';
import type { PodEncoder } from '../../podresources/ports.js';
import {
  AllocatableResourcesResponse,
  GetPodResourcesResponse,
  ListPodResourcesResponse,
} from '../../generated/proto/podresources/v1/podresources.js';
import { ListPodResourcesResponse as AlphaResponse } from '../../generated/proto/podresources/v1alpha1/podresources.js';

/** The encoder of the socket. */
export const podEncoder: PodEncoder = {
  listed: (version, pod) =>
    version === 'v1'
      ? ListPodResourcesResponse.encode({ podResources: [v1Pod(pod)] })
      : AlphaResponse.encode({ podResources: [alphaPod(pod)] }),
  allocatable: (device) => AllocatableResourcesResponse.encode({ devices: entriesOf(device) }),
  got: (pod) => GetPodResourcesResponse.encode({ podResources: v1Pod(pod) }),
};

function v1Pod({ name, namespace, containers }: ShownPod) {
  return {
    name,
    namespace,
    containers: containers.map((container) => ({
      name: container.name,
      devices: container.devices.flatMap(entriesOf),
    })),
  };
}

/** One entry for each NUMA node, each with the one id; a device without nodes has one entry without topology. */
function entriesOf({ resource, id, numaNodes }: PodDevice) {
  const entry = { resourceName: resource, deviceIds: [id] };
  return numaNodes.length === 0
    ? [entry]
    : numaNodes.map((node) => ({ ...entry, topology: { nodes: [{ id: node }] } }));
}

function alphaPod({ name, namespace, containers }: ShownPod) {
  return {
    name,
    namespace,
    containers: containers.map((container) => {
      const byResource = new Map<string, string[]>();
      for (const { resource, id } of container.devices) {
        const ids = byResource.get(resource);
        if (ids === undefined) byResource.set(resource, [id]);
        else ids.push(id);
      }
      const devices = [...byResource].map(([resourceName, deviceIds]) => ({ resourceName, deviceIds }));
      return { name: container.name, devices };
    }),
  };
}
