"""The part of a CSI driver that its registration touches, on the C implementation of gRPC. It says on standard output
which calls it gets, one line each."""

import argparse
import signal
import sys
from concurrent import futures

import grpc

import csi_pb2 as csi
from services import say, unary


class Driver:
    def __init__(self, arguments):
        self.name = arguments.name
        self.node = arguments.node_id
        self.volumes = arguments.max_volumes
        self.segments = dict(pair.split("=", 1) for pair in arguments.topology)

    def get_plugin_info(self, _request, _context):
        say("named")
        return csi.GetPluginInfoResponse(name=self.name, vendor_version="1.2.3")

    def probe(self, _request, _context):
        return csi.ProbeResponse()

    def node_get_info(self, _request, _context):
        say("asked for its node")
        return csi.NodeGetInfoResponse(
            node_id=self.node,
            max_volumes_per_node=self.volumes,
            accessible_topology=csi.Topology(segments=self.segments),
        )

    def handlers(self):
        yield grpc.method_handlers_generic_handler(
            "csi.v1.Identity",
            {
                "GetPluginInfo": unary(self.get_plugin_info, csi.GetPluginInfoRequest),
                "Probe": unary(self.probe, csi.ProbeRequest),
            },
        )
        yield grpc.method_handlers_generic_handler(
            "csi.v1.Node", {"NodeGetInfo": unary(self.node_get_info, csi.NodeGetInfoRequest)}
        )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--socket", required=True)
    parser.add_argument("--name", default="csi.example.com")
    parser.add_argument("--node-id", default="node-1")
    parser.add_argument("--max-volumes", type=int, default=0)
    parser.add_argument("--topology", action="append", default=[], metavar="KEY=VALUE")
    arguments = parser.parse_args()

    server = grpc.server(futures.ThreadPoolExecutor(max_workers=4))
    server.add_generic_rpc_handlers(tuple(Driver(arguments).handlers()))
    if server.add_insecure_port(f"unix://{arguments.socket}") == 0:
        sys.exit(f"cannot listen on {arguments.socket}")
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    server.start()
    say("serving")
    signal.sigwait({signal.SIGTERM})
    server.stop(1).wait()


main()
