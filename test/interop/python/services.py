"""Service tables for messages made by protoc: enough of gRPC's generated code to do without its plugin for Python."""

import sys

import grpc


def say(line):
    # One write: print() writes the end of the line on its own, and other threads may come between.
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


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
