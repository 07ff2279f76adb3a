"""Calls Register over and over on one channel and says how each call ended, with the waiting time that the answer carries
as this implementation of gRPC gives it: "OK", or "CODE retry-after-ms=N pushback-ms=N MESSAGE", one line each."""

import argparse

import grpc

import deviceplugin_pb2 as device
import status_pb2 as status
from services import say


def retry_after(metadata):
    """Milliseconds of the RetryInfo among the details of a status, or -1."""
    details = status.Status.FromString(metadata.get("grpc-status-details-bin", b"")).details
    for detail in details:
        info = status.RetryInfo()
        if detail.Unpack(info):
            return info.retry_delay.ToMilliseconds()
    return -1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--socket", required=True)
    parser.add_argument("--endpoint", required=True)
    parser.add_argument("--resource", required=True)
    parser.add_argument("--times", type=int, default=1)
    arguments = parser.parse_args()

    with grpc.insecure_channel(f"unix://{arguments.socket}") as channel:
        register = channel.unary_unary(
            "/v1beta1.Registration/Register",
            request_serializer=device.RegisterRequest.SerializeToString,
            response_deserializer=device.Empty.FromString,
        )
        request = device.RegisterRequest(
            version="v1beta1", endpoint=arguments.endpoint, resource_name=arguments.resource
        )
        for _ in range(arguments.times):
            try:
                register(request)
                say("OK")
            except grpc.RpcError as refusal:
                metadata = dict(refusal.trailing_metadata())
                pushback = metadata.get("grpc-retry-pushback-ms", "-1")
                say(f"{refusal.code().name} retry-after-ms={retry_after(metadata)} pushback-ms={pushback} {refusal.details()}")


main()
