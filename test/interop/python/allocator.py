"""Takes devices as any program may: over alloc.sock, with message classes that protoc made of allocator.proto. It says on
standard output what it was given, then follows its lease until it is killed."""

import argparse
import threading

import grpc

from pluginbroker.v1 import allocator_pb2 as api
from services import say


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--socket", required=True)
    parser.add_argument("--resource", required=True)
    parser.add_argument("--wait-ms", type=int, default=0)
    arguments = parser.parse_args()

    with grpc.insecure_channel(f"unix://{arguments.socket}") as channel:
        allocate = channel.unary_unary(
            "/pluginbroker.v1.Allocator/Allocate",
            request_serializer=api.AllocateRequest.SerializeToString,
            response_deserializer=api.Lease.FromString,
        )
        attach = channel.stream_stream(
            "/pluginbroker.v1.Allocator/Attach",
            request_serializer=api.AttachRequest.SerializeToString,
            response_deserializer=api.LeaseEvent.FromString,
        )
        try:
            lease = allocate(
                api.AllocateRequest(wants=[api.Want(resource=arguments.resource)], wait_ms=arguments.wait_ms)
            )
        except grpc.RpcError as refusal:
            say(f"refused {refusal.code().name} {refusal.details()}")
            return
        say(f"allocated {lease.id} {lease.granted[0].ids[0]} {lease.envs['SIM_DEVICES']}")

        def first():
            yield api.AttachRequest(lease=api.LeaseRef(id=lease.id))
            threading.Event().wait()  # the stream stays open for as long as this process lives

        for event in attach(first()):
            say(f"event {event.type} {event.lease.state}")


main()
