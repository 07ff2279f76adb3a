"""Service tables for messages made by protoc: enough of gRPC's generated code to do without its plugin for Python."""

import grpc


def say(line):
    print(line, flush=True)


def unary(behaviour, request):
    """A method that takes one message and gives one."""
    return grpc.unary_unary_rpc_method_handler(
        behaviour, request_deserializer=request.FromString, response_serializer=lambda message: message.SerializeToString()
    )


def stream(behaviour, request):
    """A method that takes one message and gives many."""
    return grpc.unary_stream_rpc_method_handler(
        behaviour, request_deserializer=request.FromString, response_serializer=lambda message: message.SerializeToString()
    )
