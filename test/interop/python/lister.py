"""Asks who has which devices as exporters do, with the limits that a channel has when nothing else was said to it."""

import argparse

import grpc

from podresources.v1 import podresources_pb2 as v1
from podresources.v1alpha1 import podresources_pb2 as v1alpha1
from services import say


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--socket", required=True)
    arguments = parser.parse_args()

    with grpc.insecure_channel(f"unix://{arguments.socket}") as channel:

        def ask(path, request, answer):
            call = channel.unary_unary(
                path, request_serializer=type(request).SerializeToString, response_deserializer=answer.FromString
            )
            return call(request, timeout=10)

        listed = ask("/v1.PodResourcesLister/List", v1.ListPodResourcesRequest(), v1.ListPodResourcesResponse)
        for pod in listed.pod_resources:
            for container in pod.containers:
                for device in container.devices:
                    nodes = ",".join(str(node.ID) for node in device.topology.nodes)
                    say(f"v1 {device.resource_name} {' '.join(device.device_ids)} numa={nodes}")
            request = v1.GetPodResourcesRequest(pod_name=pod.name, pod_namespace=pod.namespace)
            got = ask("/v1.PodResourcesLister/Get", request, v1.GetPodResourcesResponse)
            say(f"got {got.pod_resources == pod}")
        older = ask(
            "/v1alpha1.PodResourcesLister/List", v1alpha1.ListPodResourcesRequest(), v1alpha1.ListPodResourcesResponse
        )
        for pod in older.pod_resources:
            for container in pod.containers:
                for device in container.devices:
                    say(f"v1alpha1 {device.resource_name} {' '.join(device.device_ids)}")
        can = ask(
            "/v1.PodResourcesLister/GetAllocatableResources",
            v1.AllocatableResourcesRequest(),
            v1.AllocatableResourcesResponse,
        )
        say(f"allocatable {' '.join(sorted({id for device in can.devices for id in device.device_ids}))}")


main()
