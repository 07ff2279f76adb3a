"""Asks a server how it is, what it serves, and calls a method of which it has learnt everything by reflection."""

import argparse

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from health.v1 import health_pb2
from reflection.v1 import reflection_pb2
from services import say


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--socket", required=True)
    arguments = parser.parse_args()

    with grpc.insecure_channel(f"unix://{arguments.socket}") as channel:
        check = channel.unary_unary(
            "/grpc.health.v1.Health/Check",
            request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
            response_deserializer=health_pb2.HealthCheckResponse.FromString,
        )
        for service in ["", "pluginbroker.v1.Admin", "nobody.v1.Knows"]:
            try:
                answer = check(health_pb2.HealthCheckRequest(service=service), timeout=10)
                say(f"health {service or 'server'} {health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)}")
            except grpc.RpcError as error:
                say(f"health {service} {error.code().name}")

        for version in ["v1", "v1alpha"]:
            ask(channel, version)


def ask(channel, version):
    converse = channel.stream_stream(
        f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo",
        request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
        response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
    )

    def one(**question):
        return next(converse(iter([reflection_pb2.ServerReflectionRequest(**question)]), timeout=10))

    services = [service.name for service in one(list_services="").list_services_response.service]
    say(f"{version} services {' '.join(sorted(services))}")
    say(f"{version} unknown {one(file_containing_symbol='nobody.Knows').error_response.error_code}")
    pool = descriptor_pool.DescriptorPool()
    found = one(file_containing_symbol="pluginbroker.v1.Admin").file_descriptor_response.file_descriptor_proto
    for text in reversed(found):
        pool.Add(descriptor_pb2.FileDescriptorProto.FromString(text))
    method = pool.FindServiceByName("pluginbroker.v1.Admin").FindMethodByName("Status")
    factory = message_factory.MessageFactory(pool)
    request = factory.GetPrototype(method.input_type)
    reply = factory.GetPrototype(method.output_type)
    call = channel.unary_stream(
        "/pluginbroker.v1.Admin/Status",
        request_serializer=request.SerializeToString,
        response_deserializer=reply.FromString,
    )
    first = next(iter(call(request(omit_devices=True), timeout=10)))
    say(f"{version} called phase={json_format.MessageToDict(first)['broker']['phase']}")


main()
